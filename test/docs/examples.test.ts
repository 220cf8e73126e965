/** Every example, run as its own comments say; training runs are cut to a step or two. */
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type MetricsRecord, readLines, runPaths } from "../../src/core/run.js";
import { answerChat, FakeEndpoint } from "../eval/fakes.js";
import { ADD, completionOf } from "../service/serve-process.js";
import { readStarter } from "./inputs.js";
import * as project from "./project.js";

/** Overrides that cut a run. */
const CUT = [
  "trainer.total_training_steps=1",
  "data.val_files=few.jsonl",
  "health.preflight_samples=8",
  "embedded.threads=1",
  "--no-eval",
].join(" ");

let root = "";
let place: { cwd: string; env: NodeJS.ProcessEnv };

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "rlvr-examples-"));
  const tools = await project.makeToolbox(root);
  const cwd = await project.makeWorkFolder(join(root, "work"), tools);
  await mkdir(join(root, "home"));
  await project.copyFromProject("examples", join(cwd, "examples"));
  const { heldout } = await readStarter();
  const few = heldout.slice(0, 4).map((problem) => JSON.stringify(problem) + "\n");
  await writeFile(join(cwd, "few.jsonl"), few.join(""));
  place = { cwd, env: project.environmentOf(tools, join(root, "home")) };
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Runs a command that has to end with 0. */
async function run(command: string): Promise<project.Outcome> {
  const outcome = await project.shell(command, place);
  if (outcome.code !== 0) throw new Error(`${command}: ${outcome.stdout}${outcome.stderr}`);
  return outcome;
}

async function lastMetrics(name: string): Promise<MetricsRecord["metrics"]> {
  const records = await readLines<MetricsRecord>(runPaths(join(place.cwd, "runs", name)).metrics);
  return records.findLast(({ phase }) => phase === "train")?.metrics ?? {};
}

describe("examples", () => {
  test("are all named in their README", () => {
    const page = readFileSync(project.inProject("examples/README.md"), "utf8");
    const files = readdirSync(project.inProject("examples"), { recursive: true }).map(String);
    const missing = files.filter((file) => /\.\w+$/.test(file) && !page.includes(`(${file})`));
    expect(missing).toEqual(["README.md"]);
  });

  test("verifier.ts pays the right program, and an exit before the tests nothing", async () => {
    const { stdout } = await run("npx tsx examples/verifier.ts");
    expect(stdout.trimEnd().split("\n")).toEqual([
      "print(2 * int(input())): accepted, 1.00 of the tests, reward 1",
      "print(int(input()) ** 2): wrong_answer, 0.33 of the tests, reward 0.3333333333333333",
      "import os; os._exit(0): wrong_answer, 0.00 of the tests, reward 0",
    ]);
  });

  test("custom-reward/ pays a passing answer less for its length", async () => {
    await run(`examples/custom-reward/train.sh ${CUT}`);
    const metrics = await lastMetrics("custom-reward");
    expect(metrics["reward/penalty"]).toBeGreaterThan(0);
    expect(metrics["reward/score"]).toBeCloseTo(
      metrics["reward/pass_rate"] - metrics["reward/penalty"],
      6,
    );
  });

  test("custom-data/ finds the wrong test, prepares what is left and trains on it", async () => {
    const { stdout, stderr } = await run(`examples/custom-data/run.sh ${CUT}`);
    expect(stdout + stderr).toMatch(/removed +no_solution_passes +mine\/broken test 1/);
    const lines = readFileSync(join(place.cwd, "data/train6.jsonl"), "utf8").trimEnd().split("\n");
    const broken = lines
      .map((line) => JSON.parse(line) as typeof ADD)
      .find(({ id }) => id === "mine/broken");
    expect(broken?.tests).toMatchObject({ cases: [{ input: "5 3\n", output: "2\n" }] });
    expect((await lastMetrics("custom-data"))["group/size"]).toBe(8);
  });

  test("grpo.sh trains without a critic and reports before and after", async () => {
    const { stdout } = await run(`examples/grpo.sh ${CUT.replace("--no-eval", "")}`);
    expect(stdout).toMatch(/pass@1 changed by .* on 4 problems/);
    const metrics = await lastMetrics("grpo");
    expect(metrics["group/size"]).toBe(8);
    expect(Object.keys(metrics).filter((name) => name.startsWith("critic/v"))).toEqual([]);
  });

  test("endpoint-eval.sh tells the better of two models behind one server", async () => {
    const { heldout } = await readStarter();
    const endpoint = new FakeEndpoint(({ body }, response) => {
      const { model, messages } = body as { model: string; messages: { content: string }[] };
      const asked = heldout.find(({ prompt }) => prompt[0].content === messages[0].content);
      const program = model === "after" ? asked?.solutions?.[0] : "print('?')";
      answerChat(response, "```python\n" + program + "\n```");
    });
    const url = await endpoint.open();
    const { stdout } = await run(`examples/endpoint-eval.sh ${url} before after few.jsonl`);
    await endpoint.close();
    expect(stdout).toMatch(/pass@1 changed by \+100\.0 points on 4 problems/);
    expect(endpoint.bodies[0]).toMatchObject({ temperature: 0, max_tokens: 512 });
  });

  test("trl.py's reward asks the service and gets each completion's own reward", async () => {
    const completions = [0, 1, 2, 4].map((i) => completionOf(i).completion);
    const request = { problem: JSON.stringify(ADD), completions };
    await writeFile(join(place.cwd, "request.json"), JSON.stringify(request));
    const ask = `python3 ${project.inProject("test/docs/ask_trl_reward.py")} examples/trl.py`;
    let answer = "";
    await project.whileServing("rlvr serve --port 0 --workers 1", place, async (url) => {
      const env = { ...place.env, RLVR_SERVICE: url };
      const asked = await project.shell(`${ask} < request.json`, { ...place, env });
      answer = asked.stdout + asked.stderr;
    });
    expect(JSON.parse(answer)).toEqual([1, 1 / 3, 0, 0]);
  });
});
