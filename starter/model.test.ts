import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { problemSchema } from "../src/core/problem.js";
import { randomStream } from "../src/core/random.js";
import { Sampler } from "../src/model/sample.js";
import { loadModel } from "../src/model/weights.js";
import type { Model } from "../src/model/weights.js";
import { openSandbox } from "../src/verify/sandbox/open.js";
import { createVerifier, defaultVerifierOptions } from "../src/verify/verify.js";
import type { Verifier } from "../src/verify/verify.js";

const MODEL = fileURLToPath(new URL("./model", import.meta.url));
const problems = readFileSync(new URL("./data/heldout.jsonl", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => problemSchema.parse(JSON.parse(line)));

let model: Model;
/** Some wrong programs never end. */
const LIMITS = { ...defaultVerifierOptions().limits, cpuMs: 500, wallMs: 3000 };

let verifier: Verifier;
beforeAll(async () => {
  const sandbox = await openSandbox({ workers: 2, requireIsolation: "none" });
  verifier = await createVerifier({ sandbox, limits: LIMITS });
  model = await loadModel(MODEL);
});
afterAll(async () => {
  await verifier.close();
});

/** Shares over all held-out problems, one completion each. */
async function measure(temperature: number) {
  const { config, parameters, tokenizer } = model;
  const sampler = await Sampler.create(config, parameters, { threads: 1 });
  const completions = await sampler.generate({
    prompts: problems.map(({ prompt }) =>
      tokenizer.applyChatTemplate(prompt, { addGenerationPrompt: true }),
    ),
    maxNewTokens: 72,
    temperature,
    stopTokenIds: tokenizer.eosTokenIds,
    uniforms: (sequence, position) => randomStream("model test", sequence, position).next(),
  });
  const results = await Promise.all(
    completions.map(({ tokens }, i) =>
      verifier.verify({ problem: problems[i], completion: tokenizer.decode(tokens) }),
    ),
  );
  const share = (value: (i: number) => number) =>
    results.reduce((sum, _, i) => sum + value(i), 0) / results.length;
  return {
    format: share((i) => Number(results[i].extraction.format)),
    passRate: share((i) => results[i].passRate),
    accepted: share((i) => Number(results[i].verdict === "accepted")),
    stopped: share((i) => Number(completions[i].finish === "stop")),
  };
}

describe("the starter model before training", () => {
  test("has the files of a Hugging Face directory", () => {
    for (const file of ["config.json", "generation_config.json", "tokenizer_config.json"]) {
      expect(existsSync(`${MODEL}/${file}`), file).toBe(true);
    }
    expect(model.parameters.data.length).toBeGreaterThan(4e5);
    expect(model.config.eosTokenIds).toEqual(model.tokenizer.eosTokenIds);
  });

  test.each([
    ["at temperature 1", 1],
    ["when greedy", 0],
  ])("leaves room %s: some blocks, few right programs", async (_, temperature) => {
    const shares = await measure(temperature);
    expect(shares.format).toBeGreaterThan(0.2);
    expect(shares.format).toBeLessThan(0.7);
    for (const rate of [shares.passRate, shares.accepted]) {
      expect(rate).toBeGreaterThan(0.05);
      expect(rate).toBeLessThan(0.35);
    }
    expect(shares.stopped).toBeGreaterThan(0.95);
  });
});
