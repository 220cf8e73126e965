/** `rlvr eval` and `rlvr report` as a user types them, in a process of their own. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { type EvaluationInfo, evaluationInfoSchema } from "../../src/core/evaluation.js";
import { blockOf } from "../../src/verify/extract.js";
import { answerChat, FakeEndpoint } from "./fakes.js";
import { FakeHub } from "./fake-hub.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PROBLEMS = join(ROOT, "starter/data/heldout.jsonl");
const TIMEOUT = 120_000;

/** Runs the command; answers its exit code and what it wrote. */
function rlvr(...args: string[]) {
  return rlvrWith({}, ...args);
}

function rlvrWith(
  environment: Record<string, string>,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const argv = ["--import", "tsx", join(ROOT, "src/cli/main.ts"), ...args];
  return new Promise((resolve) => {
    const env = { ...process.env, ...environment };
    execFile(process.execPath, argv, { cwd: ROOT, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

let dir: string;
/** The first problems' ids and references. */
let references: { id: string; program: string }[];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "cli-"));
  const lines = (await readFile(PROBLEMS, "utf8")).split("\n").slice(0, 12);
  references = lines.map((line) => {
    const { id, solutions } = JSON.parse(line) as { id: string; solutions: string[] };
    return { id, program: solutions[0] };
  });
});

/** Writes completions that solve the first `right` problems. */
async function completionsOf(name: string, right: number): Promise<string> {
  const rows = references.map(({ id, program }, i) => ({
    problem_id: id,
    completion: blockOf(i < right ? program : "print('no such answer')"),
  }));
  const path = join(dir, name);
  await writeFile(path, rows.map((row) => JSON.stringify(row) + "\n").join(""));
  return path;
}

const infoOf = (stdout: string): EvaluationInfo => evaluationInfoSchema.parse(JSON.parse(stdout));

describe("rlvr eval and rlvr report", () => {
  test(
    "judge a file of completions and compare two of them",
    async () => {
      const outs: string[] = [];
      for (const [name, right] of [
        ["before", 2],
        ["after", 11],
      ] as const) {
        const completions = await completionsOf(`${name}.jsonl`, right);
        const out = join(dir, name);
        outs.push(out);
        const args = ["--completions", completions, "--only-given", "--out", out, "--json"];
        const { code, stdout } = await rlvr("eval", "starter", ...args);
        expect(code).toBe(0);
        expect(infoOf(stdout).verdicts.accepted).toBe(right);
      }
      const { code, stdout } = await rlvr("report", ...outs);
      expect(code).toBe(0);
      expect(stdout).toMatch(/pass@1 changed by \+75\.0 points on 12 problems .*9 gained, 0 lost/);
      for (const file of ["report.json", "report.md", "report.html"]) {
        expect(existsSync(join(outs[1], "report", file))).toBe(true);
      }
    },
    TIMEOUT,
  );

  test(
    "leave the evaluation of another model as it is, and say where to write instead",
    async () => {
      const out = join(dir, "taken");
      const evaluateFile = async (name: string, right: number) => {
        const args = ["--completions", await completionsOf(name, right), "--only-given"];
        return rlvr("eval", "starter", ...args, "--out", out);
      };
      expect((await evaluateFile("one.jsonl", 2)).code).toBe(0);
      const kept = await readFile(join(out, "results.jsonl"), "utf8");
      const { code, stderr } = await evaluateFile("two.jsonl", 3);
      expect(code).toBe(2);
      expect(stderr).toMatch(/holds another: model file file:\w+, not file file:\w+.*--out/);
      expect(await readFile(join(out, "results.jsonl"), "utf8")).toBe(kept);
      expect((await evaluateFile("one.jsonl", 2)).code).toBe(0);
    },
    TIMEOUT,
  );

  test(
    "say what is missing, exit with 1, and complete when called again",
    async () => {
      let isDown = true;
      const endpoint = new FakeEndpoint(({ count }, response) => {
        if (isDown && count > 3) response.writeHead(400).end('{"error": {"message": "full"}}');
        else answerChat(response, blockOf("print(1)"));
      });
      const baseUrl = await endpoint.open();
      const out = join(dir, "endpoint");
      const args = ["--model", "m", "--base-url", baseUrl, "--limit", "6", "--concurrency", "1"];
      const first = await rlvr("eval", "starter", ...args, "--out", out, "--json");
      expect(first.code).toBe(1);
      expect(infoOf(first.stdout)).toMatchObject({ status: "incomplete", missing: 3 });
      expect(first.stderr).toContain("the same command asks for them again");
      isDown = false;
      const second = await rlvr("eval", "starter", ...args, "--out", out, "--json");
      await endpoint.close();
      expect(second.code).toBe(0);
      expect(infoOf(second.stdout)).toMatchObject({ status: "complete", samples: 6 });
      expect(endpoint.bodies).toHaveLength(9);
    },
    TIMEOUT,
  );

  test(
    "take a benchmark from the hub, only the files of the release asked for",
    async () => {
      const row = (i: number) => ({
        question_id: `q${i}`,
        question_title: "t",
        question_content: "Print 1.",
        platform: "atcoder",
        contest_date: "2024-01-01T00:00:00",
        difficulty: "easy",
        public_test_cases: '[{"input": "", "output": "1\\n", "testtype": "stdin"}]',
      });
      const hub = new FakeHub("livecodebench/code_generation_lite", {
        "test.jsonl": JSON.stringify(row(1)) + "\n",
        "test2.jsonl": JSON.stringify(row(2)) + "\n",
        "test3.jsonl": JSON.stringify(row(3)) + "\n",
      });
      const url = await hub.open();
      const environment = { HF_ENDPOINT: url, XDG_CACHE_HOME: join(dir, "cache") };
      const args = ["eval", "live_code_bench", "--release", "v2", "--dry-run"];
      const first = await rlvrWith(environment, ...args);
      const fetched = hub.fetched.size;
      const second = await rlvrWith(environment, ...args);
      await hub.close();
      expect(first.stdout).toMatch(/^2 problems of livecodebench, v2 start\.\.end, style chat/);
      expect(second.stdout).toBe(first.stdout);
      expect([...hub.fetched]).toEqual(["test.jsonl", "test2.jsonl"]);
      expect(hub.fetched.size).toBe(fetched);
    },
    TIMEOUT,
  );

  test(
    "say what to do when the hub cannot be reached",
    async () => {
      const environment = { HF_ENDPOINT: "http://127.0.0.1:9", XDG_CACHE_HOME: join(dir, "none") };
      const { code, stderr } = await rlvrWith(environment, "eval", "gsm8k", "--dry-run");
      expect(code).toBe(2);
      expect(stderr).toMatch(/openai\/gsm8k cannot be fetched from http:\/\/127\.0\.0\.1:9/);
    },
    TIMEOUT,
  );

  test.each([
    [["eval", "starter"], /expected --model FOLDER, --model NAME with --base-url URL, or --compl/],
    [
      ["eval", "starter", "--base-url", "http://127.0.0.1:9/v1"],
      /expected --model with the model's/,
    ],
    [["eval", "starter", "--model", "x", "--time-limit", "0"], /expected a number above 0/],
    [
      ["eval", "humaneval", "--from", "2024-01-01"],
      /--from has no part here: it goes with livecod/,
    ],
    [["eval", "starter", "--model", "x", "--prefill"], /--prefill .* it goes with --base-url/],
    [["eval", "humanevil", "x.jsonl"], /expected a benchmark out of humaneval/],
    [["eval", "starter", "--model", "x", "--style", "odd"], /starter has the style chat, not odd/],
    [["eval", "starter", "--model", "no/such/model"], /no\/such\/model/],
    [["eval", "starter", "--model", "x", "--limit", "0"], /positive whole number/],
    [["eval", "problems"], /expected the files of problems/],
    [["report", "no/such/folder"], /expected a second evaluation, or a run/],
    [["report", "no/such", "folder"], /no\/such\/eval\.json/],
  ])("answer %j with one line and exit code 2", async (args, message) => {
    const { code, stderr, stdout } = await rlvr(...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stdout).toBe("");
  });
});
