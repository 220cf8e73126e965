/** veRL 0.9's own code, unchanged, as our client (venv verl09; skipped without it). */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Problem } from "../../src/core/problem.js";
import { loadCustomReward, withCustomReward } from "../../src/verify/custom-reward.js";
import { createVerifier, type Verifier } from "../../src/verify/verify.js";
import { venvPython } from "../merge/venv.js";
import { inProject, serve, type ServeProcess } from "./serve-process.js";

const python = venvPython("verl09");

function runPython<T>(script: string, words: string[], input: unknown): Promise<T> {
  const child = spawn(python as string, [inProject(`test/service/${script}`), ...words], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, CUDA_VISIBLE_DEVICES: "", HF_HUB_OFFLINE: "1" },
  });
  child.stdin.end(JSON.stringify(input));
  return new Promise((resolve, reject) => {
    let [output, said] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    child.once("close", (code) => {
      if (code !== 0) reject(new Error(`${script} ended with ${code}: ${said.slice(-3000)}`));
      else resolve(JSON.parse(output.trimEnd().split("\n").at(-1) ?? "") as T);
    });
  });
}

const block = (code: string) => "```python\n" + code + "\n```";
const ECHO = block("print(input())");

describe.skipIf(python === null)("veRL's sandbox_fusion client (venv verl09)", () => {
  interface Answers {
    answers: { score: number; statuses: string[] }[];
    burst: { score: number }[];
    most: number;
  }
  const MEGABYTE = "x".repeat(2 ** 20);
  const one = (input: string, output: string) => ({ inputs: [input], outputs: [output] });
  // What the rules of veRL's client make of each: score, and its word for every test.
  const CASES: [string, object, number, string[]][] = [
    [
      "right",
      { completion: ECHO, tests: { inputs: ["a", "b"], outputs: ["a\n", "b"] } },
      1,
      ["success", "success"],
    ],
    [
      "half",
      { completion: ECHO, tests: { inputs: ["a", "b"], outputs: ["a", "c"] } },
      0.5,
      ["success", "wrong_answer"],
    ],
    ["trailing space", { completion: ECHO, tests: one("a", "a ") }, 0, ["wrong_answer"]],
    [
      "1 MB printed",
      { completion: block(`print("x" * 2**20)`), tests: one("", MEGABYTE) },
      1,
      ["success"],
    ],
    ["1 MB read and printed", { completion: ECHO, tests: one(MEGABYTE, MEGABYTE) }, 1, ["success"]],
    ["an exception", { completion: block("1 / 0"), tests: one("", "") }, 0, ["runtime_error"]],
    ["exit code 3", { completion: block("exit(3)"), tests: one("", "") }, 0, ["runtime_error"]],
    [
      "endless",
      { completion: block("while True: pass"), tests: one("", ""), timeout: 1 },
      0,
      ["timeout"],
    ],
    [
      "asleep",
      { completion: block("import time\ntime.sleep(60)"), tests: one("", ""), timeout: 1 },
      0,
      ["timeout"],
    ],
    ["a syntax error", { completion: block("def f(:"), tests: one("", "x") }, 0, ["compile_error"]],
    ["no block", { completion: "none", tests: one("", "") }, 0, []],
    [
      "a call",
      {
        completion: block("def add(a, b): return a + b"),
        tests: { fn_name: "add", ...one("1\n2", "3") },
      },
      1,
      ["success"],
    ],
    [
      "asserts",
      {
        completion: block("def add(a, b): return a + b"),
        tests: { assert_case: ["assert add(1, 2) == 3", "assert add(1, 2) == 4"] },
      },
      0.5,
      ["success", "runtime_error"],
    ],
  ];
  let service: ServeProcess;
  let answer: Answers;
  beforeAll(async () => {
    service = await serve("--workers", "2");
    const burst = Array.from({ length: 64 }, (_, i) => ({
      // Each waits a little, so that all requests are open before the first ones are answered.
      completion: block(`import time\ntime.sleep(0.06)\nprint(int(input()) + ${i})`),
      tests: { inputs: ["0", "1"], outputs: [`${i}`, i % 2 === 0 ? `${i + 1}` : "wrong"] },
    }));
    answer = await runPython("sandbox_fusion.py", [service.url], {
      cases: CASES.map(([, request]) => request),
      burst,
    });
  }, 300_000);
  afterAll(async () => void (await service?.stop("SIGTERM")));

  test.each(CASES.map(([name, , score, statuses], i) => ({ name, score, statuses, i })))(
    "$name scores $score",
    ({ score, statuses, i }) => {
      expect(answer.answers[i].score).toBe(score);
      if (statuses.length > 0) expect(answer.answers[i].statuses).toEqual(statuses);
    },
  );

  test("64 samples at once, over at least 64 connections, are all scored right", () => {
    expect(answer.burst.map(({ score }) => score)).toEqual(
      Array.from({ length: 64 }, (_, i) => (i % 2 === 0 ? 1 : 0.5)),
    );
    expect(answer.most).toBeGreaterThanOrEqual(64);
  });
});

describe.skipIf(python === null)(
  "veRL's reward loop on rows of `rlvr prepare` (venv verl09)",
  () => {
    interface Answer {
      manager: string;
      rows: number;
      scores: { reward_score: number; reward_extra_info: Record<string, number> }[];
    }
    let dir = "";
    let problems: Problem[] = [];
    let completions: string[] = [];
    let library: Verifier;

    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), "rlvr-verl-"));
      await prepare(dir);
      problems = readFileSync(join(dir, "out", "train60.jsonl"), "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Problem);
      completions = problems.map((problem, i) => completionFor(problem, i));
      library = await createVerifier({ workers: 2 });
    }, 120_000);
    afterAll(async () => {
      await library?.close();
      rmSync(dir, { recursive: true, force: true });
    });

    async function compare(verifier: Verifier, service: ServeProcess): Promise<Answer> {
      const reward = "reward.custom_reward_function";
      const answer = await runPython<Answer>("verl_loop.py", [], {
        parquet: join(dir, "out", "train60.parquet"),
        completions,
        tokenizer: inProject("starter/model"),
        words: [
          `${reward}.path=${inProject("python/verl_reward.py")}`,
          `${reward}.name=compute_score`,
          `+${reward}.reward_kwargs.urls="${service.url}"`,
        ],
      });
      const expected = await Promise.all(
        problems.map((problem, i) => verifier.verify({ completion: completions[i], problem })),
      );
      expect(answer.rows).toBe(problems.length);
      expect(answer.scores.map(({ reward_score }) => reward_score)).toEqual(
        expected.map(({ reward }) => reward),
      );
      expect(new Set(expected.map(({ reward }) => reward)).size).toBeGreaterThan(2);
      const keys = answer.scores.map(({ reward_extra_info }) =>
        Object.keys(reward_extra_info).join(),
      );
      expect(new Set(keys).size).toBe(1);
      return answer;
    }

    test("gives the library's scores through the reward file", async () => {
      const service = await serve("--workers", "2");
      expect((await compare(library, service)).manager).toBe("NaiveRewardManager");
      await service.stop("SIGTERM");
    }, 300_000);

    test("gives a TypeScript reward's numbers as the embedded engine does", async () => {
      const path = inProject("test/service/my-reward.ts");
      const service = await serve("--workers", "2", "--reward", path);
      const custom = withCustomReward(library, await loadCustomReward(path, "computeScore"));
      await compare(custom, service);
      await service.stop("SIGTERM");
    }, 300_000);
  },
);

/** Sums, maxima and a function, as a raw file in Eurus' shape, through `rlvr prepare`. */
async function prepare(dir: string): Promise<void> {
  const rows = Array.from({ length: 60 }, (_, i) => {
    const [inputs, outputs] = [
      [`${i} 2`, "5 6"],
      [`${i + 2}`, "11"],
    ];
    const truth =
      i % 3 === 2
        ? {
            fn_name: "add",
            inputs: [
              [i, 2],
              [5, 6],
            ],
            outputs: [[i + 2], [11]],
          }
        : { inputs, outputs };
    return {
      data_source: i % 3 === 2 ? "apps" : "codecontests",
      prompt: [{ role: "user", content: `Add two numbers, task ${i}.` }],
      ability: "code",
      reward_model: { style: "rule", ground_truth: JSON.stringify(truth) },
      extra_info: { index: i, split: "train" },
    };
  });
  const raw = join(dir, "raw.jsonl");
  writeFileSync(raw, rows.map((row) => JSON.stringify(row) + "\n").join(""));
  const words = ["--import", "tsx", inProject("src/cli/main.ts"), "prepare", raw];
  const child = spawn(process.execPath, [...words, "--out", join(dir, "out"), "--dedupe", "off"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`prepare ended with ${String(code)}: ${said}`);
  if (!readdirSync(join(dir, "out")).includes("train60.parquet")) throw new Error(said);
}

/** In turn: right, right for one test, wrong, no program. */
function completionFor({ tests }: Problem, i: number): string {
  const isCall = tests.kind === "call";
  const bodies = isCall
    ? ["return a + b", "return 11", "return None"]
    : ["print(sum(map(int, input().split())))", "print(11)", "print()"];
  const body = bodies[Math.floor(i / 3) % 4];
  if (body === undefined) return "I do not know.";
  return block(isCall ? `def add(a, b):\n    ${body}` : body);
}
