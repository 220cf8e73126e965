/** Fuzz of the parsers of text: completions, ground truths, JSON, answers, configs, chat templates. */
import fc from "fast-check";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { CONFIG_KEYS } from "../../src/config/schema.js";
import { PRESETS } from "../../src/config/presets.js";
import { formatConfig, resolveConfig } from "../../src/config/resolve.js";
import { parseGroundTruthRow } from "../../src/formats/ground-truth.js";
import { formatJson, parseJson } from "../../src/formats/lossless-json.js";
import { compileChatTemplate } from "../../src/model/chat-template.js";
import { loadTokenizer } from "../../src/model/tokenizer.js";
import { extractAnswer } from "../../src/verify/answer.js";
import { extractProgram } from "../../src/verify/extract.js";
import { TIMEOUT_MS, fuzz } from "./fuzz.js";
import { mutatedText, pieced } from "./mutate.js";
import { CONFIG_FILE, MESSAGES, TEMPLATES, TOKENIZER } from "./corpus.js";

const starter = (name: string) =>
  readFileSync(new URL(`../../starter/model/${name}`, import.meta.url), "utf8");

const dir = mkdtempSync(join(tmpdir(), "rlvr-fuzz-"));
afterAll(() => rmSync(dir, { recursive: true }));

describe("text", { timeout: TIMEOUT_MS }, () => {
  test("completions", () =>
    fuzz({
      name: "extraction",
      few: 6000,
      inputs: fc.record({
        completion: fc.oneof(
          pieced(
            ["```", "~~~", "`", "python", "py", "\n", "\r\n", " ", "\t", "- ", "1. ", "> "].concat(
              [
                "def f(x):\n    return x\n",
                "print(",
                ")",
                "'''",
                '"',
                "a = 1",
                "import a",
                ":",
                "#",
              ],
              [
                "<think>",
                "</think>",
                "<|im_end|>",
                "</s>",
                "class Solution:",
                "\\",
                "\u2028",
                "[",
                "]",
              ],
            ),
          ),
          mutatedText([
            "text\n```python\ndef f(x):\n    return x\n```\nend<|im_end|>",
            "x = 1\nprint(x)\n",
          ]),
        ),
        language: fc.constantFrom("python", "cpp", "bash", "cobol"),
        entryPoint: fc.option(fc.oneof(fc.constant("f"), fc.string({ maxLength: 6 }))),
      }),
      parse: extractProgram,
    }));

  test("stated answers", () =>
    fuzz({
      name: "answers",
      few: 4000,
      inputs: pieced(["####", " ", "-", "$", "1", "0", ",", ".", "\n", "answer"]),
      parse: (text) => [extractAnswer(text, "strict"), extractAnswer(text, "flexible")],
    }));

  test("JSON without loss", () =>
    fuzz({
      name: "lossless JSON",
      few: 6000,
      inputs: fc.oneof(
        fc.json({ maxDepth: 6 }),
        mutatedText(['{"a": [1.0, 1e3, NaN, -Infinity, "\\u0041\\ud800"], "b": {"c": null}}']),
        pieced(["[", "]", "{", "}", ",", ":", '"', "\\", "u00", "1", ".", "e", "-", "NaN", "null"]),
      ),
      parse: (text) => formatJson(parseJson(text)),
    }));

  test("ground truths", () =>
    fuzz({
      name: "ground truth",
      few: 4000,
      inputs: fc.oneof(
        mutatedText([
          '{"inputs": ["1\\n"], "outputs": ["2"], "checker": {"language": "python", "program": "x"}}',
          '{"fn_name": "f", "inputs": [[1, "a"], "1\\n2"], "outputs": [[3], "4"], "alternatives": [[5]]}',
          '[{"input": {"stdin": "1"}, "output": {"stdout": "2"}}]',
          '{"assert_case": ["assert f(1) == 2"], "entry_point": "f", "limits": {"timeMs": 1}}',
        ]),
        fc
          .record(
            {
              inputs: fc.jsonValue({ maxDepth: 3 }),
              outputs: fc.jsonValue({ maxDepth: 3 }),
              fn_name: fc.jsonValue({ maxDepth: 1 }),
              limits: fc.jsonValue({ maxDepth: 1 }),
              compare: fc.jsonValue({ maxDepth: 1 }),
              problem_id: fc.jsonValue({ maxDepth: 1 }),
            },
            { requiredKeys: [] },
          )
          .map((row) => JSON.stringify(row)),
      ),
      parse: (text) => parseGroundTruthRow(text),
    }));

  test("configs", () => {
    const key = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...CONFIG_KEYS.map(({ path }) => path)) },
      { weight: 1, arbitrary: fc.string({ maxLength: 20 }) },
      {
        weight: 1,
        arbitrary: fc.constantFrom("__proto__", "constructor", "trainer", "a.__proto__.b"),
      },
    );
    const value = fc.oneof(
      fc.json({ maxDepth: 2 }),
      fc.string({ maxLength: 12 }),
      fc.constantFrom(
        "&a [*a]",
        "!!binary aa",
        "{<<: *b}",
        "null",
        "1e999",
        "-1",
        "true",
        "*a",
        "? a",
      ),
    );
    const override = fc.tuple(key, value).map(([name, text]) => `${name}=${text}`);
    return fuzz({
      name: "config",
      few: 1000,
      inputs: fc.record({
        preset: fc.option(fc.constantFrom(...Object.keys(PRESETS), "toString")),
        file: fc.option(
          fc
            .oneof(
              mutatedText([CONFIG_FILE]),
              fc.tuple(key, value).map(([name, text]) => `${name}: ${text}\n`),
              pieced([
                "trainer",
                "data",
                "seed",
                ": ",
                "\n",
                "  ",
                "- ",
                "&a ",
                "*a",
                "{",
                "}",
                "[",
                "]",
              ]),
            )
            .map((text) => ({ path: "run.yaml", text })),
        ),
        overrides: fc.array(override, { maxLength: 2 }),
        environment: fc.constantFrom(
          {},
          { NNODES: "x" },
          { MODEL_PATH: "m", TRAIN_BATCH_SIZE: "-1" },
        ),
      }),
      parse: (sources) => formatConfig(resolveConfig(sources)),
    });
  });

  test("chat templates", () =>
    fuzz({
      name: "chat template",
      few: 3000,
      inputs: fc.record({
        template: fc.oneof(
          fc.constantFrom(...TEMPLATES),
          mutatedText(TEMPLATES),
          pieced([
            "{%",
            "%}",
            "{{",
            "}}",
            " for m in messages ",
            "endfor",
            " if ",
            "m",
            ".",
            "[",
            "]",
            "|",
          ]),
        ),
        messages: fc.oneof(fc.constant(MESSAGES), fc.jsonValue({ maxDepth: 3 })),
      }),
      parse: ({ template, messages }) =>
        compileChatTemplate(template).render(
          (Array.isArray(messages) ? messages : [messages]) as unknown as typeof MESSAGES,
          { addGenerationPrompt: true, bosToken: "<s>" },
        ),
    }));

  test("tokenizers", () =>
    fuzz({
      name: "tokenizer.json",
      few: 1000,
      inputs: fc.record({
        json: fc.oneof(mutatedText([JSON.stringify(TOKENIZER)]), fc.json({ maxDepth: 3 })),
        config: fc.oneof(fc.constant(starter("tokenizer_config.json")), fc.json({ maxDepth: 2 })),
        text: fc.string({ maxLength: 20 }),
      }),
      parse: async ({ json, config, text }) => {
        writeFileSync(join(dir, "tokenizer.json"), json);
        writeFileSync(join(dir, "tokenizer_config.json"), config);
        const tokenizer = await loadTokenizer(dir);
        return tokenizer.decode(tokenizer.encode(text));
      },
    }));
});
