/** `rlvr serve --config`: the service judges as a run of that config does. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { resolveConfig } from "../../src/config/resolve.js";
import { judgingSettings } from "../../src/config/settings.js";
import { groundTruthOf } from "../../src/formats/verl-rows.js";
import { ADD, completionOf, inProject, serve } from "./serve-process.js";

let dir = "";
let config = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "rlvr-config-"));
  config = join(dir, "run.yaml");
  writeFileSync(
    config,
    [
      "engine: verl",
      "reward: { kind: all_or_nothing }",
      "verifier: { time_limit_ms: 300, early_stop: true, require_isolation: none, workers: 1 }",
      "",
    ].join("\n"),
  );
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Starts a service, and answers its health with what it makes of each completion. */
async function ask(words: string[], completions: string[]) {
  const service = await serve(...words);
  const get = async (path: string, body?: object) => {
    const more = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    return (await (await fetch(service.url + path, more)).json()) as Record<string, unknown>;
  };
  const health = await get("/healthz");
  const scores: Record<string, unknown>[] = [];
  for (const solution of completions) {
    const row = { data_source: "apps", ground_truth: groundTruthOf(ADD) };
    scores.push(await get("/reward", { ...row, solution_str: solution }));
  }
  await service.stop("SIGTERM");
  return { settings: health["settings"], scores };
}

const THIRD = completionOf(1).completion;
const SLOW = "```python\nimport time\nwhile time.process_time() < 0.8: pass\nprint(3)\n```";

test("limits and reward are the file's", async () => {
  const { settings, scores } = await ask(["--config", config], [THIRD, SLOW]);
  const overrides = ["reward.kind=all_or_nothing", "verifier.time_limit_ms=300"];
  const same = resolveConfig({ overrides: [...overrides, "verifier.early_stop=true"] });
  expect(settings).toEqual(judgingSettings(same.config));
  expect(scores[0]).toMatchObject({ score: 0, pass_rate: 1 / 3 });
  expect(scores[1]).toMatchObject({ score: 0, time_limit: 1 });
});

test("without a file they are the defaults, and a flag comes before the file", async () => {
  const plain = await ask(["--workers", "1"], [THIRD, SLOW]);
  expect(plain.settings).toEqual(judgingSettings(resolveConfig({}).config));
  expect(plain.scores[0]).toMatchObject({ score: 1 / 3 });
  expect(plain.scores[1]).toMatchObject({ time_limit: 0 });
  const own = ["--config", config, "--reward", inProject("test/service/my-reward.ts")];
  const { settings } = await ask(own, []);
  expect(settings).toMatchObject({ "reward.kind": "custom", "verifier.time_limit_ms": 300 });
});

test("a file that is not there, or has a key that is none, starts nothing", async () => {
  await expect(serve("--config", join(dir, "none.yaml"))).rejects.toThrow(
    /ended with 2: rlvr: expected a config file, found .*none\.yaml: there is no such file/,
  );
  const wrong = join(dir, "wrong.yaml");
  writeFileSync(wrong, "verifier: { time_limit: 3 }\n");
  await expect(serve("--config", wrong)).rejects.toThrow(/unknown key verifier\.time_limit/);
});
