/**
 * The runs over HTTP, for the dashboard: thin routes over the run store, and one stream per open
 * page that sends only what is new.
 */
import type { Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { ConfigError } from "../core/errors.js";
import type { MetricsRecord, RolloutIndexEntry } from "../core/run.js";
import { VERDICT_KINDS, type VerdictKind } from "../core/verdict.js";
import { countOutcomes } from "../report/outcomes.js";
import { findPhases, type PhaseMark } from "../report/phases.js";
import { readEvaluations, readPairs } from "../report/run-evaluations.js";
import { findProblem } from "../report/run-problems.js";
import type { RolloutQuery } from "../report/rollout-table.js";
import type { OpenRun, RunStore } from "../report/run-store.js";
import { sendRefusal } from "./answers.js";

const POLL_MS = 1000;
const READ_AHEAD_MS = 700;
const MOST_RECORDS_AT_ONCE = 500;
const MOST_POINTS = 4000;
const PHASE_POINTS = 200;
const PHASE_SMOOTHING = 0.6;
const TEXT_BYTES = 256 * 1024;

/** Mounts the routes under /api; streams end when the service drains. */
export function mountRunRoutes(
  app: Hono,
  store: RunStore,
  isDraining: () => boolean = () => false,
): void {
  app.get("/api/runs", async (c) => c.json({ runs: await store.list() }));
  app.use("/api/runs/:run/*", async (c, next) => {
    if (await store.has(nameOf(c))) return next();
    const message = `there is no run ${nameOf(c)} in the folder of runs`;
    const body = { error: "not_found", message };
    return sendRefusal(c, { status: 404, retryAfter: null, body });
  });
  app.get("/api/runs/:run", async (c) => c.json(await describeRun(store, nameOf(c))));
  app.get("/api/runs/:run/series", async (c) => {
    const { metrics } = store.open(nameOf(c));
    await metrics.glance();
    const query = seriesQuery(c);
    const phases = query.phase === "train" ? phasesOf(metrics) : [];
    return c.json({ ...metrics.series(query), phases, isSample: metrics.isSample });
  });
  app.get("/api/runs/:run/outcomes", async (c) =>
    c.json(await outcomesOf(store.open(nameOf(c)), seriesQuery(c))),
  );
  app.get("/api/runs/:run/rollouts", async (c) => {
    const { rollouts } = store.open(nameOf(c));
    await rollouts.refresh();
    return c.json(await rollouts.find(rolloutQuery(c)));
  });
  app.get("/api/runs/:run/rollout", async (c) => {
    const { rollouts, dir } = store.open(nameOf(c));
    await rollouts.refresh();
    return c.json({ rollouts: await readGroup(rollouts, c), dir });
  });
  app.get("/api/runs/:run/problem", async (c) =>
    c.json({ problem: await findProblem(store.open(nameOf(c)).dir, c.req.query("id") ?? "") }),
  );
  app.get("/api/runs/:run/config", async (c) =>
    c.text((await store.readText(nameOf(c), "config", TEXT_BYTES)) ?? ""),
  );
  app.get("/api/runs/:run/log", async (c) =>
    c.text((await store.readText(nameOf(c), "log", TEXT_BYTES)) ?? ""),
  );
  app.get("/api/runs/:run/evaluations", async (c) =>
    c.json(await readEvaluations(store.open(nameOf(c)).dir)),
  );
  app.get("/api/runs/:run/pairs", async (c) => {
    const names = { before: c.req.query("before") ?? "", after: c.req.query("after") ?? "" };
    return c.json({ pairs: await readPairs(store.open(nameOf(c)).dir, names) });
  });
  app.get("/api/runs/:run/stream", (c) => {
    const name = nameOf(c);
    return streamRun(c, store.open(name), { store, name, isOver: isDraining });
  });
}

const nameOf = (c: Context): string => c.req.param("run") ?? "";

async function describeRun(store: RunStore, name: string) {
  const run = store.open(name);
  await run.glance();
  const { metrics, health, dir } = run;
  readAhead(run);
  return {
    ...(await store.summary(name)),
    dir,
    health,
    generation: metrics.generation,
    isSample: metrics.isSample,
    train: { names: metrics.names("train"), span: metrics.span("train") },
    val: { names: metrics.names("val"), span: metrics.span("val") },
    latest: { train: metrics.latest("train"), val: metrics.latest("val") },
  };
}

/**
 * Reads what the next clicks will ask for, every step's metrics, then the index of rollouts; only
 * after a while, so that the page that opens now is not kept waiting by it.
 */
function readAhead({ metrics, rollouts }: OpenRun): void {
  const read = () =>
    metrics
      .refresh()
      .then(() => rollouts.refresh())
      // Whoever asks for them reads again, and is told what is wrong.
      .catch(() => {});
  setTimeout(() => void read(), READ_AHEAD_MS).unref();
}

function seriesQuery(c: Context) {
  const phase = c.req.query("phase") ?? "train";
  if (phase !== "train" && phase !== "val") {
    throw new ConfigError(`phase: expected train or val, got ${phase}`);
  }
  const points = numberOf(c, "points") ?? 1000;
  const edges = c.req.query("edges");
  return {
    phase: phase as MetricsRecord["phase"],
    names: listOf(c.req.query("names") ?? ""),
    ...optional("edges", edges === undefined ? undefined : listOf(edges)),
    points: Math.min(MOST_POINTS, Math.max(1, Math.floor(points))),
    ...optional("from", numberOf(c, "from")),
    ...optional("to", numberOf(c, "to")),
    ...optional("timeFrom", numberOf(c, "time_from")),
    ...optional("timeTo", numberOf(c, "time_to")),
    ...optional("smoothing", numberOf(c, "smoothing")),
  };
}

const listOf = (names: string): string[] => names.split(",").filter((name) => name !== "");

/** The phases of the whole run, whatever range is looked at. */
function phasesOf(metrics: OpenRun["metrics"]): PhaseMark[] {
  const names = ["reward/format", "reward/pass_rate"];
  const { steps, times, series } = metrics.series({
    phase: "train",
    names,
    points: PHASE_POINTS,
    smoothing: PHASE_SMOOTHING,
  });
  const [format, passRate] = names.map((name) => series[name].mean);
  return findPhases({ steps, times, format, passRate });
}

/** How the rollouts of a range came out, with the time of each step. */
async function outcomesOf(
  { metrics, rollouts, problemTags }: OpenRun,
  { points, ...range }: ReturnType<typeof seriesQuery>,
) {
  await Promise.all([metrics.glance(), rollouts.refresh()]);
  const isWhole = [range.from, range.to, range.timeFrom, range.timeTo].every(
    (end) => end === undefined,
  );
  // A step whose rollouts are there and whose metrics are not yet belongs to the whole.
  const within = isWhole ? ALL_STEPS : metrics.stepsWithin("train", range);
  const [from, to] = within ?? [0, -1];
  const outcomes = countOutcomes(rollouts.columns, {
    ...{ from, to, points },
    tags: await problemTags(),
  });
  return {
    ...outcomes,
    times: metrics.timesOf("train", outcomes.steps),
    kindTimes: metrics.timesOf("train", outcomes.kindSteps),
  };
}

const ALL_STEPS: [number, number] = [-Infinity, Infinity];

function rolloutQuery(c: Context): RolloutQuery {
  const verdicts = c.req.query("verdicts")?.split(",");
  const unknown = verdicts?.find((kind) => !VERDICT_KINDS.includes(kind as VerdictKind));
  if (unknown !== undefined) {
    throw new ConfigError(`verdicts: expected some of ${VERDICT_KINDS.join(", ")}, got ${unknown}`);
  }
  const format = c.req.query("format");
  return {
    skip: numberOf(c, "skip") ?? 0,
    limit: Math.min(200, numberOf(c, "limit") ?? 50),
    order: c.req.query("order") === "oldest" ? "oldest" : "newest",
    ...optional("verdicts", verdicts as VerdictKind[] | undefined),
    ...optional("stepFrom", numberOf(c, "step_from")),
    ...optional("stepTo", numberOf(c, "step_to")),
    ...optional("group", numberOf(c, "group")),
    ...optional("rewardFrom", numberOf(c, "reward_from")),
    ...optional("rewardTo", numberOf(c, "reward_to")),
    ...optional("tokensFrom", numberOf(c, "tokens_from")),
    ...optional("tokensTo", numberOf(c, "tokens_to")),
    ...optional("problemId", c.req.query("problem")),
    ...optional("text", c.req.query("text")),
    ...optional("format", format === undefined ? undefined : format === "true"),
  };
}

/** The rollouts of one group, or of one problem over all steps, whole. */
async function readGroup(rollouts: OpenRun["rollouts"], c: Context) {
  const query = rolloutQuery(c);
  const { entries } = await rollouts.find({ ...query, order: "oldest", limit: 64 });
  return Promise.all(entries.map((entry: RolloutIndexEntry) => rollouts.read(entry)));
}

/**
 * Sends what is new since a page was told of a run. Where the run's files were replaced, `reset` is
 * the last it sends: the page has to ask anew.
 */
function streamRun(c: Context, run: OpenRun, { store, isOver, name }: StreamOptions): Response {
  const seen = { train: numberOf(c, "train") ?? 0, val: numberOf(c, "val") ?? 0 };
  let seenHealth = numberOf(c, "health") ?? 0;
  const generation = numberOf(c, "generation") ?? run.metrics.generation;
  let lastStatus = "";
  return streamSSE(c, async (stream) => {
    while (!stream.aborted && !stream.closed && !isOver()) {
      await run.refresh();
      const { metrics, health } = run;
      const isShorter =
        health.length < seenHealth ||
        PHASES.some((phase) => (metrics.span(phase)?.records ?? 0) < seen[phase]);
      if (isShorter || metrics.generation !== generation) {
        return stream.writeSSE({ event: "reset", data: "" });
      }
      const delta = PHASES.flatMap((phase) => {
        const records = metrics.since(phase, seen[phase], MOST_RECORDS_AT_ONCE);
        seen[phase] += records.length;
        return records;
      });
      if (delta.length > 0)
        await stream.writeSSE({ event: "metrics", data: JSON.stringify(delta) });
      const events = health.slice(seenHealth);
      seenHealth += events.length;
      if (events.length > 0) {
        await stream.writeSSE({ event: "health", data: JSON.stringify(events) });
      }
      const { status } = await store.summary(name);
      if (status !== lastStatus) await stream.writeSSE({ event: "status", data: status });
      else if (delta.length === 0) await stream.writeSSE({ event: "alive", data: "" });
      lastStatus = status;
      await stream.sleep(POLL_MS);
    }
  });
}

interface StreamOptions {
  store: RunStore;
  name: string;
  /** True once the service ends: a stream would keep it up. */
  isOver: () => boolean;
}

const PHASES = ["train", "val"] as const;

function numberOf(c: Context, key: string): number | undefined {
  const text = c.req.query(key);
  if (text === undefined || text === "") return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new ConfigError(`${key}: expected a number, got ${text}`);
  return value;
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
}
