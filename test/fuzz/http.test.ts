/** Fuzz of the service's requests, in process: every answer is JSON with a status that fits. */
import fc from "fast-check";
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { RunStore } from "../../src/report/run-store.js";
import { mountRunRoutes } from "../../src/service/run-api.js";
import { createApp } from "../../src/service/server.js";
import type { Sandbox } from "../../src/verify/sandbox.js";
import type { Verifier } from "../../src/verify/verify.js";
import { ArithmeticVerifier } from "../train/fixture.js";
import { PROBLEM } from "./corpus.js";
import { TIMEOUT_MS, fuzz } from "./fuzz.js";
import { mutatedText } from "./mutate.js";

const runs = mkdtempSync(join(tmpdir(), "rlvr-fuzz-runs-"));
afterAll(() => rmSync(runs, { recursive: true }));

const outcome = {
  ...{ end: { kind: "exited", exitCode: 0 }, stdout: Buffer.from("3\n"), stderr: "" },
  ...{ cpuMs: 1, wallMs: 1, peakBytes: 1 },
};
const { app } = createApp(
  {
    verifier: new ArithmeticVerifier() as Verifier,
    sandbox: { level: "basic", run: async () => [outcome] } as unknown as Sandbox,
    options: {
      ...{ token: null, pageToken: null, maxBodyBytes: 2 ** 20 },
      ...{ concurrency: 2, queueCapacity: 4, deadlineMs: 1000 },
    },
  },
  "127.0.0.1",
);
writeRun();
mountRunRoutes(app, new RunStore(runs));

const bodies = [
  { problem: PROBLEM, completion: "```python\nprint(3)\n```", options: { max_tests: 1 } },
  { problems: [PROBLEM], items: [{ problem_id: "add", completion: "x" }], stream: true },
  { data_source: "apps", solution_str: "x", ground_truth: '{"inputs":["1"],"outputs":["2"]}' },
  { code: "print(1)", language: "python", stdin: "", run_timeout: 1, files: { "a/b": "YQ==" } },
].map((body) => JSON.stringify(body));

const key = fc.constantFrom(
  ...["problem", "completion", "completions", "problems", "items", "stream", "options", "code"],
  ...["data_source", "solution_str", "ground_truth", "extra_info", "language", "stdin", "files"],
);
const body = fc.oneof(
  mutatedText(bodies),
  fc.dictionary(key, fc.jsonValue({ maxDepth: 3 })).map((value) => JSON.stringify(value)),
);
const post = fc.record({
  method: fc.constant("POST"),
  path: fc.constantFrom("/verify", "/reward", "/run_code"),
  body,
});

const query = fc.constantFrom(
  ...["phase", "names", "points", "from", "to", "smoothing", "skip", "limit", "order", "verdicts"],
  ...["step_from", "group", "reward_from", "problem", "text", "format", "id", "time_from"],
);
const value = fc.oneof(
  fc.constantFrom("train", "val", "a", "-1", "1e308", "0", "NaN", "accepted", "true", ""),
  fc.string({ maxLength: 8 }),
);
const get = fc
  .tuple(
    fc.oneof(
      { weight: 3, arbitrary: fc.constant("run") },
      { weight: 1, arbitrary: fc.constantFrom("..", "%2e%2e", "a%00", "%ff", "run%2Frun.json") },
      { weight: 1, arbitrary: fc.string({ maxLength: 6 }).map(encodeURIComponent) },
    ),
    fc.constantFrom(
      "",
      "/series",
      "/rollouts",
      "/rollout",
      "/problem",
      "/config",
      "/evaluations",
      "/pairs",
    ),
    fc.dictionary(query, value, { maxKeys: 4 }),
  )
  .map(([run, route, parameters]) => ({
    method: "GET",
    path: `/api/runs/${run}${route}?${new URLSearchParams(parameters)}`,
  }));

test("requests", { timeout: TIMEOUT_MS }, () =>
  fuzz({
    name: "HTTP",
    few: 3000,
    inputs: fc.oneof({ weight: 3, arbitrary: post }, { weight: 1, arbitrary: get }),
    parse: async ({ path, ...request }) => {
      const url = `http://127.0.0.1${path}`;
      const headers = { host: "127.0.0.1" };
      const response = await app.request(url, { ...request, headers });
      const text = await response.text();
      // 503 and 504 say that the sandbox is broken or busy, which no request may bring about.
      if (response.status >= 500) throw new Error(`status ${response.status}: ${text}`);
      if (response.status >= 400 && response.status !== 404) {
        expect(JSON.parse(text)).toMatchObject({ error: expect.any(String) });
      }
    },
  }),
);

describe("what no request may do", () => {
  test("name a run outside the folder", async () => {
    for (const name of ["..", "%2e%2e", "..%2f..", "run%2f..%2f.."]) {
      const headers = { host: "127.0.0.1" };
      const response = await app.request(`http://127.0.0.1/api/runs/${name}/config`, { headers });
      expect(response.status).toBeGreaterThanOrEqual(400);
    }
  });
});

function writeRun(): void {
  const dir = join(runs, "run");
  mkdirSync(join(dir, "rollouts"), { recursive: true });
  const info = { format: 1, name: "run", preset: null, engine: "embedded", seed: 1, version: "0" };
  const rest = { startedAt: new Date(0).toISOString(), isolation: null, totalSteps: 2, pid: null };
  writeFileSync(join(dir, "run.json"), JSON.stringify({ ...info, ...rest, status: "finished" }));
  const lines = [1, 2].map((step) =>
    JSON.stringify({ step, phase: "train", time: step, metrics: { a: step, "reward/format": 1 } }),
  );
  writeFileSync(join(dir, "metrics.jsonl"), `${lines.join("\n")}\n`);
}
