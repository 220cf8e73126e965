/** The reward file for veRL, and rewards written in TypeScript, against real services. */
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Problem } from "../../src/core/problem.js";
import { groundTruthOf } from "../../src/formats/verl-rows.js";
import { loadCustomReward, withCustomReward } from "../../src/verify/custom-reward.js";
import { createVerifier, type Verifier } from "../../src/verify/verify.js";
import {
  ADD,
  completionOf,
  inProject,
  processesNaming,
  serve,
  type ServeProcess,
  slowCompletion,
} from "./serve-process.js";

const REWARD_FILE = inProject("python/verl_reward.py");
const MY_REWARD = inProject("test/service/my-reward.ts");

type Scores = (Record<string, number> | string)[];

interface Row {
  data_source: string;
  solution_str: string;
  ground_truth: string;
}

const rowOf = (solution: string, problem: Problem = ADD): Row => ({
  data_source: problem.source,
  solution_str: solution,
  ground_truth: groundTruthOf(problem),
});

/** Runs the reward file on a batch; `onBegin` when the first score is there. */
function askRewardFile(
  rows: Row[],
  kwargs: Record<string, unknown>,
  onBegin: () => void = () => {},
  env: Record<string, string> = {},
): Promise<Scores> {
  const words = [inProject("test/service/ask_reward_file.py"), REWARD_FILE];
  const child = spawn("python3", words, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  child.stdin.end(JSON.stringify({ kwargs, rows }));
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      if (output === "") onBegin();
      output += chunk.toString();
    });
    child.once("close", (code) => {
      const last = output.trimEnd().split("\n").at(-1) ?? "";
      if (code === 0) resolve(JSON.parse(last) as Scores);
      else reject(new Error(`the reward file ended with ${code}`));
    });
  });
}

const scoresOf = (scores: Scores) =>
  scores.map((one) => (typeof one === "string" ? one : one["score"]));

describe("a row's own rules reach its verdict", () => {
  let service: ServeProcess;
  let library: Verifier;
  beforeAll(async () => {
    service = await serve("--workers", "2");
    library = await createVerifier({ workers: 2 });
  });
  afterAll(async () => {
    await library?.close();
    await service?.stop("SIGTERM");
  });

  const block = (code: string) => "```python\n" + code + "\n```";
  const stdio = (output: string, more: Partial<Problem>, checker?: string): Problem => ({
    ...ADD,
    ...more,
    tests: {
      kind: "stdio",
      cases: [{ input: "", output }],
      ...(checker === undefined
        ? {}
        : { checker: { language: "python", source: checker, protocol: "testlib" as const } }),
    },
  });
  const burn = "import time\nwhile time.process_time() < 1.5: pass\nprint(1)";
  const isEven = "import sys\nsys.exit(0 if int(open(sys.argv[2]).read()) % 2 == 0 else 1)";
  const calls: Problem = {
    ...ADD,
    tests: {
      kind: "call",
      entryPoint: "f",
      cases: [{ args: "[9007199254740993]", expected: "[9007199254740993]", alternatives: ["1"] }],
    },
  };
  const answer: Problem = { ...ADD, source: "gsm8k", tests: { kind: "answer", answer: "1001" } };

  test.each<[string, Problem, string, number]>([
    ["without a limit of its own", stdio("1", {}), block(burn), 1],
    ["a time limit", stdio("1", { limits: { timeMs: 300 } }), block(burn), 0],
    ["the default comparison", stdio("Hello", {}), block('print("hello")'), 0],
    [
      "a comparison",
      stdio("Hello", { compare: { ignoreCase: "all" } }),
      block('print("hello")'),
      1,
    ],
    ["a checker, right", stdio("2", {}, isEven), block("print(8)"), 1],
    ["a checker, wrong", stdio("2", {}, isEven), block("print(7)"), 0],
    ["another language", stdio("1", { language: "bash" }), "```bash\necho 1\n```", 1],
    ["a further right value", calls, block("def f(x): return 1"), 1],
    ["a whole number above 2^53", calls, block("def f(x): return [x]"), 1],
    ["a stated answer", answer, "So the answer is #### 1,001", 1],
    ["a stated answer, wrong", answer, "So the answer is #### 1,002", 0],
  ])("%s", async (_, problem, completion, expected) => {
    const [scored] = await askRewardFile([rowOf(completion, problem)], { urls: service.url });
    const judged = await library.verify({ completion, problem });
    expect(scored).toMatchObject({ score: expected, bad_problem: 0, infra_error: 0 });
    expect(judged.reward).toBe(expected);
  });

  test.each(["", "{}", '{"inputs": ["1"], "outputs": []}', '{"inputs": ["1"], "outputs": [null]}'])(
    "a row that cannot be judged says bad_problem: %j",
    async (truth) => {
      const row = { data_source: "apps", solution_str: "x", ground_truth: truth };
      const [scored] = await askRewardFile([row], { urls: service.url });
      expect(scored).toMatchObject({ score: 0, bad_problem: 1 });
    },
  );
});

describe("a reward in TypeScript", () => {
  const batch = Array.from({ length: 40 }, (_, i) => completionOf(i).completion);
  let embedded: Verifier;
  let expected: (number | null)[] = [];
  beforeAll(async () => {
    const builtIn = await createVerifier({ workers: 2 });
    embedded = withCustomReward(builtIn, await loadCustomReward(MY_REWARD, "computeScore"));
    expected = await Promise.all(
      batch.map(async (completion) => (await embedded.verify({ completion, problem: ADD })).reward),
    );
  });
  afterAll(async () => void (await embedded?.close()));

  test("pays the same embedded, through the service's client, and through the reward file", async () => {
    const service = await serve("--workers", "2", "--reward", MY_REWARD);
    const remote = await createVerifier({ url: service.url });
    const results = await Promise.all(
      batch.map((completion) => remote.verify({ completion, problem: ADD })),
    );
    expect(results.map(({ reward }) => reward)).toEqual(expected);
    expect(results[0].extras?.["penalty"]).toBeGreaterThan(0);
    const rows = batch.map((completion) => rowOf(completion));
    const scores = await askRewardFile(rows, { urls: service.url });
    expect(scoresOf(scores)).toEqual(expected);
    expect(new Set(expected).size).toBeGreaterThan(2);
    await remote.close();
    await service.stop("SIGTERM");
  });

  test("that throws is an error with its stack for every client, and no score", async () => {
    const service = await serve("--reward", MY_REWARD, "--reward-name", "throwing");
    const remote = await createVerifier({ url: service.url });
    const judging = remote.verify({ completion: batch[0], problem: ADD });
    await expect(judging).rejects.toThrow(/no such thing as a score[^]*my-reward\.ts/);
    const kwargs = { urls: service.url, on_infra_error: "zero" };
    const [scored] = await askRewardFile([rowOf(batch[0])], kwargs);
    expect(scored).toMatch(/^VerifierRefused: [^]*no such thing as a score[^]*my-reward\.ts/);
    await remote.close();
    await service.stop("SIGTERM");
  });
});

describe("the reward file", () => {
  test("sends arrays, scalars and bytes as what they hold, and refuses what JSON cannot say", () => {
    const words = [inProject("test/service/reward_file_values.py"), REWARD_FILE];
    expect(execFileSync("python3", words, { encoding: "utf8" })).toBe("ok\n");
  });
});

describe("the reward file and services that fail", () => {
  test("two services, one killed in the middle of a batch: every score is right", async () => {
    const [first, second] = await Promise.all([serve("--workers", "1"), serve("--workers", "1")]);
    const batch = Array.from({ length: 120 }, (_, i) =>
      i % 6 === 5 ? { completion: slowCompletion(i, 30), passRate: 1 } : completionOf(i),
    );
    let killed: Promise<number | null> | null = null;
    const scores = await askRewardFile(
      batch.map(({ completion }) => rowOf(completion)),
      { urls: `${first.url},${second.url}` },
      () => (killed = first.stop("SIGKILL")),
    );
    expect(await killed).toBe(null);
    expect(scoresOf(scores)).toEqual(batch.map(({ passRate }) => passRate));
    const metrics = await (await fetch(`${second.url}/metrics`)).text();
    const served = /rlvr_request_seconds_count\{route="\/reward",status="200"\} (\d+)/.exec(
      metrics,
    );
    // Both had work: had the first been left out from the start, the second had served them all.
    expect(Number(served?.[1])).toBeLessThan(batch.length);
    await second.stop("SIGTERM");
  });

  test("starts one service on this node for all workers, and another when that one is killed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rlvr-start-"));
    const main = inProject("src/cli/main.ts");
    const kwargs = { start: `${process.execPath} --import tsx ${main} serve --workers 1` };
    const batch = Array.from({ length: 20 }, (_, i) => completionOf(i));
    const rows = batch.map(({ completion }) => rowOf(completion));
    const expected = batch.map(({ passRate }) => passRate);
    const ask = () => askRewardFile(rows, kwargs, undefined, { TMPDIR: folder });
    for (const scores of await Promise.all([ask(), ask(), ask()])) {
      expect(scoresOf(scores)).toEqual(expected);
    }
    const [first, ...more] = processesNaming(folder);
    expect(more).toEqual([]);
    process.kill(first, "SIGKILL");
    expect(scoresOf(await ask())).toEqual(expected);
    const [second] = processesNaming(folder).filter((pid) => pid !== first);
    process.kill(second, "SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  });

  test("no service at all: dropped by an error, or zero that says so", async () => {
    const kwargs = { urls: "http://127.0.0.1:9", timeout_s: 1 };
    const row = rowOf(completionOf(0).completion);
    expect((await askRewardFile([row], kwargs))[0]).toMatch(/^VerifierUnavailable: .*refused/);
    const zero = await askRewardFile([row], { ...kwargs, on_infra_error: "zero" });
    expect(zero[0]).toMatchObject({ score: 0, infra_error: 1 });
    await expect(askRewardFile([row], { ...kwargs, on_infra_error: "abort" })).rejects.toThrow(
      "70",
    );
  });
});
