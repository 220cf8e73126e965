/** What the pages take for granted: data sets, models, checkpoints and a run, by the names they use. */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Problem } from "../../src/core/problem.js";
import { copyFromProject, inProject, writeScript } from "./project.js";

const lines = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row) + "\n").join("");

const HUMANEVAL = {
  task_id: "HumanEval/900",
  prompt: 'def add(a, b):\n    """Add."""\n',
  entry_point: "add",
  canonical_solution: "    return a + b\n",
  test: "def check(candidate):\n    assert candidate(1, 2) == 3\n",
};
const GSM8K = { question: "What is 40 + 2?", answer: "40 + 2 = <<40+2=42>>42\n#### 42" };

/** A row as Eurus-2-RL-Data has it. */
function eurusRow({ source, prompt, tests }: Problem, index: number) {
  if (tests.kind !== "stdio") throw new Error("expected a problem with standard input");
  const ground = {
    inputs: tests.cases.map(({ input }) => input),
    outputs: tests.cases.map(({ output }) => output),
  };
  return {
    data_source: source,
    prompt,
    ability: "code",
    reward_model: { style: "rule", ground_truth: JSON.stringify(ground) },
    extra_info: { index, split: "train" },
  };
}

/** Problems of the starter, and rows of Eurus made of them. */
export async function readStarter(): Promise<{
  train: Problem[];
  heldout: Problem[];
  eurus: Record<"train" | "validation", string>;
}> {
  const [train, heldout] = await Promise.all(
    ["train", "heldout"].map(async (name) => {
      const text = await readFile(inProject(`starter/data/${name}.jsonl`), "utf8");
      return text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Problem);
    }),
  );
  const rowsOf = (problems: Problem[]) =>
    lines(problems.filter(({ tests }) => tests.kind === "stdio").map(eurusRow));
  return {
    train,
    heldout,
    eurus: { train: rowsOf(train), validation: rowsOf(heldout.slice(0, 40)) },
  };
}

/** Writes the inputs of every page into a folder; what a trained run gives comes by `addRun`. */
export async function writeInputs(dir: string): Promise<void> {
  const { train, heldout, eurus } = await readStarter();
  const few = heldout.slice(0, 8);
  const factorial = train.find(({ id }) => id === "starter/train/factorial/9") as Problem;
  const judged = [factorial, ...few.slice(0, 3)];
  const answers = judged.map(({ id, solutions }) => ({
    problem_id: id,
    completion: "```python\n" + (solutions?.[0] ?? "") + "\n```",
  }));
  const files: Record<string, string | Buffer> = {
    "few.jsonl": lines(few),
    "mine.jsonl": lines(train.slice(0, 32)),
    "my-problems.jsonl": lines(few.slice(0, 1)),
    "problems.jsonl": lines(judged),
    "completions.jsonl": lines(answers),
    "solution.py": factorial.solutions?.[0] ?? "",
    "HumanEval.jsonl.gz": gzipSync(lines([HUMANEVAL])),
    "samples.jsonl": lines([{ task_id: "HumanEval/900", completion: "    return a + b\n" }]),
    "gsm8k_test.jsonl": lines([GSM8K]),
    "run.yaml": "preset: starter\n",
    "my-reward.ts": await readFile(inProject("examples/custom-reward/my-reward.ts")),
    "eurus.jsonl": eurus.train,
    "validation.jsonl": eurus.validation,
  };
  for (const [name, content] of Object.entries(files)) await write(join(dir, name), content);
  await copyFromProject("starter/model", join(dir, "my-model"));
  await addCheckpoint(join(dir, "checkpoints/global_step_20"));
  await writeStandIn(join(dir, "home"));
}

/** veRL's layout, from shards of two ranks; the critic's folder is a copy. */
async function addCheckpoint(dir: string): Promise<void> {
  await write(join(dir, "../latest_checkpointed_iteration.txt"), "20");
  for (const role of ["actor", "critic"]) {
    await copyFromProject("test/fixtures/fsdp/cpu_fsdp1_lora_ws2", join(dir, role));
    await write(join(dir, role, "lora_train_meta.json"), '{"r": 4, "lora_alpha": 8}');
    await copyFromProject(
      "test/fixtures/fsdp/cpu_fsdp1_lora_ws2/ref",
      join(dir, role, "huggingface"),
    );
  }
}

/** A Python that says it has veRL, and the GPUs that a launch looks for. */
async function writeStandIn(home: string): Promise<void> {
  const fake = inProject("test/verl/fake_verl.py");
  await writeScript(
    join(home, "verl/bin/python"),
    `export FAKE_PYTHON=$0\nexec python3 ${fake} "$@"`,
  );
  const gpu = "echo 'NVIDIA H100, 81559, 81000'";
  await writeScript(join(home, "bin/nvidia-smi"), Array(8).fill(gpu).join("\n"));
}

/** Copies a finished run to every place where a page has one. */
export async function addRun(dir: string, run: string): Promise<void> {
  for (const name of ["starter", "A", "B", "my-run"]) {
    await cp(run, join(dir, "runs", name), { recursive: true });
  }
  await addCheckpoint(join(dir, "runs/qwen2.5-coder-0.5b-1gpu/checkpoints/global_step_20"));
  await cp(join(run, "eval/before"), join(dir, "evals/base"), { recursive: true });
  await cp(join(run, "eval/after"), join(dir, "evals/tuned"), { recursive: true });
}

async function write(path: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}
