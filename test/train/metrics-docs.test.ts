/** docs/METRICS.md names every metric that a run logs, and every health rule. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HEALTH_RULES } from "../../src/train/health-rules.js";
import { type MetricsRecord, readLines, runPaths } from "../../src/core/run.js";
import { train } from "../../src/train/train.js";
import { ArithmeticVerifier, tinyRun, writeFixture } from "./fixture.js";

/** The names in the page, with `{a,b}`, `…` and `<x>` as the page uses them. */
function patterns(page: string): RegExp[] {
  const words = [...page.matchAll(/`([^`]+)`/g)].map(([, word]) => word);
  return words.map((word) => {
    const source = word
      .replace(/[.*+?^$()|[\]\\]/g, "\\$&")
      .replace(/\{([^}]+)\}/g, (_, list: string) => `(?:${list.replaceAll(",", "|")})`)
      .replace(/<[^>]+>/g, "[^/]+")
      .replace(/N$/, "\\d+")
      .replace(/\/…$/, "/(?:mean|max|min)")
      .replace(/^…/, ".*");
    return new RegExp(`^${source}$`);
  });
}

test("docs/METRICS.md names every metric and every rule", async () => {
  const page = await readFile(new URL("../../docs/METRICS.md", import.meta.url), "utf8");
  const known = patterns(page);
  const root = await mkdtemp(join(tmpdir(), "rlvr-docs-"));
  const fixture = join(root, "fixture");
  await writeFixture(fixture);
  const overrides = [
    "actor_rollout_ref.actor.use_kl_loss=true",
    "actor_rollout_ref.actor.entropy_coeff=0.01",
    "algorithm.filter_groups.enable=true",
    "actor_rollout_ref.rollout.n=2",
    "actor_rollout_ref.rollout.val_kwargs.n=2",
  ];
  await train(tinyRun(fixture, join(root, "run"), overrides), {
    verifier: new ArithmeticVerifier(),
  });
  const records = await readLines<MetricsRecord>(runPaths(join(root, "run")).metrics);
  const names = [...new Set(records.flatMap(({ metrics }) => Object.keys(metrics)))];
  expect(names.length).toBeGreaterThan(60);
  expect(names.filter((name) => !known.some((pattern) => pattern.test(name)))).toEqual([]);
  expect(HEALTH_RULES.filter(({ id }) => !page.includes(`\`${id}\``))).toEqual([]);
  await rm(root, { recursive: true, force: true });
});
