/**
 * The health monitor: evaluates the rules after every record and says each one once, then again
 * every K steps for as long as it holds.
 */
import type { FATAL_CONDITIONS } from "../config/schema.js";
import type { HealthEvent, MetricsRecord } from "../core/run.js";
import { HEALTH_RULES, type HealthRule, type History } from "./health-rules.js";

/** How a run is watched. */
export interface HealthOptions {
  repeatEvery: number;
  stopOn: readonly (typeof FATAL_CONDITIONS)[number][];
  rules?: readonly HealthRule[];
}

/** Watches one run. */
export class HealthMonitor {
  readonly #options: HealthOptions;
  readonly #train: History["train"][number][] = [];
  readonly #val: History["val"][number][] = [];
  /** Step at which each rule was last said. */
  readonly #said = new Map<string, number>();

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  /** Takes in a record and answers what is to be said of it. */
  observe(record: MetricsRecord): HealthEvent[] {
    const { step, phase, metrics, time } = record;
    (phase === "train" ? this.#train : this.#val).push({ step, metrics });
    const history = { train: this.#train, val: this.#val };
    const events: HealthEvent[] = [];
    for (const rule of this.#options.rules ?? HEALTH_RULES) {
      const sign = rule.test(history);
      if (sign === null) {
        this.#said.delete(rule.id);
        continue;
      }
      const isFatal =
        sign.fatal === true && rule.stop !== undefined && this.#options.stopOn.includes(rule.stop);
      const said = this.#said.get(rule.id);
      if (!isFatal && said !== undefined && step - said < this.#options.repeatEvery) continue;
      this.#said.set(rule.id, step);
      const { id, title, metric, condition, advice } = rule;
      const { value, evidence } = sign;
      const severity = isFatal ? "fatal" : "warning";
      events.push({
        ...{ step, time, rule: id, severity, title, metric, value, condition, evidence, advice },
      });
    }
    return events;
  }
}
