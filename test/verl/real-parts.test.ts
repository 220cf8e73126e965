/**
 * veRL 0.9's own dataset, reward loop and metrics logger, run for real on CPU with our parquet
 * file, our reward file and a real verify service (venv verl09).
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openVerlService, type VerlService } from "../../src/cli/verl-service.js";
import { resolveConfig } from "../../src/config/resolve.js";
import type { Problem } from "../../src/core/problem.js";
import { prepareData } from "../../src/launch/launch.js";
import { parseFileLine } from "../../src/launch/metrics-lines.js";
import { type LaunchPlan, planLaunch } from "../../src/launch/plan.js";
import { probeMachine } from "../../src/launch/probe.js";
import { venvPython } from "../merge/venv.js";

const python = venvPython("verl09");
const inProject = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const call = promisify(execFile);

interface Answer {
  rows: number;
  prompts: { role: string; content: string }[][];
  texts: string[];
  collated: string[];
  manager: string;
  scores: { reward_score: number; reward_extra_info: Record<string, number> }[];
}

const RIGHT = "Adds.\n```python\nprint(sum(map(int, input().split())))\n```";
const HALF = "```python\nprint(3)\n```";
const NO_CODE = "I do not know.";

describe.skipIf(python === null)("veRL 0.9 on CPU (venv verl09)", () => {
  let dir = "";
  let service: VerlService;
  let plan: LaunchPlan;
  let answer: Answer;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "verl-parts-"));
    const problems: Problem[] = [0, 1, 2, 3, 4].map((index) => ({
      id: `sum/${index}`,
      source: index % 2 === 0 ? "apps" : "taco",
      prompt: [
        { role: "system", content: "You are a competitive programming assistant." },
        { role: "user", content: `Print the sum of the numbers. Task ${index} "é" \\n {}` },
      ],
      tests: {
        kind: "stdio",
        cases: [
          { input: "1 2\n", output: "3\n" },
          { input: "5 6\n", output: "11\n" },
        ],
      },
      language: "python",
    }));
    const file = join(dir, "train.jsonl");
    writeFileSync(file, problems.map((problem) => JSON.stringify(problem) + "\n").join(""));
    const resolved = resolveConfig({
      preset: "qwen2.5-coder-0.5b-1gpu",
      overrides: [
        `data.train_files=${file}`,
        `data.val_files=${file}`,
        "data.train_batch_size=4",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
      ],
    });
    const machine = await probeMachine(python as string, { files: [], disk: dir });
    plan = planLaunch(resolved, {
      dir,
      name: "parts",
      rewardShim: inProject("python/verl_reward.py"),
      token: null,
      python: machine.python,
      knownKeys: machine.knownKeys,
    });
    await prepareData(plan);
    service = await openVerlService(resolved.config, plan.socket);
    const request = {
      words: plan.command.words.slice(3),
      tokenizer: inProject("starter/model"),
      completions: [
        { index: 0, text: RIGHT },
        { index: 1, text: HALF },
        { index: 2, text: NO_CODE },
        { index: 3, text: RIGHT },
      ],
      metrics: [
        { "critic/score/mean": 0.25, "val-core/apps/acc/mean@1": 0.5 },
        { "critic/score/mean": 0.5, "actor/grad_norm": null },
      ],
    };
    writeFileSync(join(dir, "request.json"), JSON.stringify(request));
    const { stdout } = await call(
      python as string,
      [inProject("test/verl/real_parts.py"), join(dir, "request.json")],
      { env: { ...process.env, ...plan.command.environment }, maxBuffer: 2 ** 26, cwd: dir },
    );
    answer = JSON.parse(stdout.trim().split("\n").at(-1) as string) as Answer;
  }, 300_000);

  afterAll(async () => {
    await service?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  test("RLHFDataset reads our parquet file: prompts come out whole", () => {
    expect(answer.rows).toBe(5);
    expect(answer.prompts[3]).toEqual([
      { role: "system", content: "You are a competitive programming assistant." },
      { role: "user", content: 'Print the sum of the numbers. Task 3 "é" \\n {}' },
    ]);
    expect(answer.texts[3]).toContain('Task 3 "é" \\n {}');
    expect(answer.collated).toContain("raw_prompt");
  });

  test("the reward loop scores by our reward file and the verify service", () => {
    expect(answer.manager).toBe("NaiveRewardManager");
    expect(answer.scores.map(({ reward_score }) => reward_score)).toEqual([1, 0.5, 0, 1]);
    const [right, half, none] = answer.scores.map(({ reward_extra_info }) => reward_extra_info);
    expect(right).toMatchObject({ score: 1, pass_rate: 1, format: 1, infra_error: 0 });
    expect(half).toMatchObject({ pass_rate: 0.5, format: 1 });
    expect(none).toMatchObject({ pass_rate: 0, format: 0 });
    const keys = answer.scores.map(({ reward_extra_info }) =>
      Object.keys(reward_extra_info).join(),
    );
    expect(new Set(keys).size).toBe(1);
  });

  test("the file logger writes where we read, and its lines are parsed", () => {
    const lines = readFileSync(plan.paths.metricsFile, "utf8").trimEnd().split("\n");
    expect(lines.map(parseFileLine)).toEqual([
      { step: 1, metrics: { "critic/score/mean": 0.25, "val-core/apps/acc/mean@1": 0.5 } },
      { step: 2, metrics: { "critic/score/mean": 0.5, "actor/grad_norm": NaN } },
    ]);
  });
});
