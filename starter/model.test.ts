import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadModel } from "../src/model/weights.js";
import { resolvePython } from "../src/verify/python.js";
import type { Verifier } from "../src/verify/verify.js";
import { measure, openVerifier, readProblems } from "./measure.js";
import { judgePlainly } from "./plain-judge.js";

const MODEL = fileURLToPath(new URL("./model", import.meta.url));

let verifier: Verifier;
beforeAll(async () => {
  verifier = await openVerifier();
});
afterAll(async () => {
  await verifier.close();
});

describe("the starter model before training", () => {
  test("has the files of a Hugging Face directory", async () => {
    for (const file of ["config.json", "generation_config.json", "tokenizer_config.json"]) {
      expect(existsSync(`${MODEL}/${file}`), file).toBe(true);
    }
    const { config, parameters, tokenizer } = await loadModel(MODEL);
    expect(parameters.data.length).toBeGreaterThan(4e5);
    expect(config.eosTokenIds).toEqual(tokenizer.eosTokenIds);
  });

  test.each([
    ["at temperature 1", 1],
    ["when greedy", 0],
  ])("leaves room %s: some blocks, few right programs", async (_, temperature) => {
    const shares = await measure(MODEL, readProblems("heldout"), { temperature, verifier });
    expect(shares.format).toBeGreaterThan(0.2);
    expect(shares.format).toBeLessThan(0.7);
    for (const rate of [shares.passRate, shares.accepted]) {
      expect(rate).toBeGreaterThan(0.05);
      expect(rate).toBeLessThan(0.35);
    }
    expect(shares.stopped).toBeGreaterThan(0.95);
  });

  test("writes programs on which plain Python processes agree, test by test", async () => {
    const problems = readProblems("heldout").slice(0, 60);
    const { completions, results } = await measure(MODEL, problems, { temperature: 1, verifier });
    const python = await resolvePython();
    const plain = problems.map((problem, i) => judgePlainly(python, problem, completions[i]));
    expect(plain).toEqual(results.map(({ passRate }) => passRate));
    expect(plain.filter((share) => share > 0).length).toBeGreaterThan(5);
  });
});
