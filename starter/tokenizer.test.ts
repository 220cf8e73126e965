import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { randomStream } from "../src/core/random.js";
import { loadTokenizer } from "../src/model/tokenizer.js";
import { drawAnswer, MIXTURE } from "./answers.js";
import { FAMILIES } from "./families/table.js";
import { drawProblem, drawSplit, SPLITS } from "./problems.js";
import { trainTokenizer } from "./tokenizer.js";

const MODEL = fileURLToPath(new URL("./model", import.meta.url));
const tokenizer = await loadTokenizer(MODEL);

const random = randomStream("tokenizer test");
const texts = FAMILIES.flatMap(({ family, theme }) => {
  const split = family.transfer === true ? "transfer" : "train";
  const drawn = drawProblem({ family, theme }, split, random);
  return [drawn.problem.prompt[0].content, drawAnswer(drawn, random, MIXTURE)];
});

describe("the starter tokenizer", () => {
  test("gives back every text of the families exactly, line breaks and indentation included", () => {
    for (const text of texts) expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
  });

  test.each([
    "",
    " ",
    "\n\n    \n",
    "\tif x:\r\n\t\ty",
    "naïve Größe — 日本 🙂",
    "a  b   c",
    "<|im_end",
  ])("gives back %j, which it never saw", (text) => {
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
  });

  test("writes a chat as role, text and end, and ends with the assistant's turn", () => {
    const messages = [
      { role: "system" as const, content: "Be brief." },
      { role: "user" as const, content: "Print 1." },
    ];
    expect(tokenizer.renderChat(messages, { addGenerationPrompt: true })).toBe(
      "<|system|>Be brief.<|im_end|><|user|>Print 1.<|im_end|><|assistant|>",
    );
    expect(tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true })[0]).toBe(2);
  });

  test("keeps prompts within 40 tokens and answers within 72", () => {
    const prompts = SPLITS.flatMap((split) => drawSplit(split, 3, 1)).map(
      ({ problem }) =>
        tokenizer.applyChatTemplate(problem.prompt, { addGenerationPrompt: true }).length,
    );
    const answers = texts.map((text) => tokenizer.encode(text).length + 1);
    // Families held out entirely fall back on pieces of words.
    expect(Math.max(...prompts)).toBeLessThanOrEqual(72);
    expect(Math.max(...answers)).toBeLessThanOrEqual(110);
  });

  const venvs = process.env["CODE_RLVR_VENVS"] ?? join(homedir(), ".cache/code-rlvr/venvs");
  const python = join(venvs, "data/bin/python");
  test.skipIf(!existsSync(python))(
    "gives the ids that Python's tokenizers gives (needs the virtual environment `data`)",
    () => {
      const script =
        "import json, sys, tokenizers\n" +
        `t = tokenizers.Tokenizer.from_file(${JSON.stringify(join(MODEL, "tokenizer.json"))})\n` +
        "print(json.dumps([t.encode(x, add_special_tokens=False).ids for x in json.load(sys.stdin)]))";
      const output = execFileSync(python, ["-c", script], { input: JSON.stringify(texts) });
      expect(JSON.parse(output.toString())).toEqual(texts.map((text) => tokenizer.encode(text)));
    },
    20_000,
  );
});

describe("trainTokenizer", () => {
  test("merges the pairs of a frequent piece until it is one token", () => {
    const files = trainTokenizer(["aaab aaab aaab", "zz"], 3);
    const { model } = files["tokenizer.json"] as {
      model: { vocab: Record<string, number>; merges: string[][] };
    };
    // "aaab" three times holds a+a six times, then aa+a … each tie goes to the first in code order.
    expect(model.merges[0]).toEqual(["a", "a"]);
    expect(model.vocab["aaab"]).toBeDefined();
    expect(model.vocab["zz"]).toBeUndefined();
  });
});
