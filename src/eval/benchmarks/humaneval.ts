/**
 * HumanEval: 164 functions to complete from signature and docstring, with assert tests.
 *
 *     {"task_id": "HumanEval/0", "prompt": "from typing …\n\n\ndef has_close_elements(…", "entry_point":
 *      "has_close_elements", "canonical_solution": "    for idx …", "test": "…def check(candidate): …"}
 *
 * Source: https://github.com/openai/human-eval. The wording of the styles named after a harness is
 * that harness's own, as it must be for its numbers to come out again.
 */
import { z } from "zod";
import { defineBenchmark, userMessage } from "./benchmark.js";
import { EVALPLUS_CHAT, EVALPLUS_STOP, evalplusMessages } from "./evalplus.js";

const rowSchema = z.object({
  task_id: z.string(),
  prompt: z.string(),
  entry_point: z.string(),
  canonical_solution: z.string().optional(),
  test: z.string(),
});

/** HumanEval. */
export const humaneval = defineBenchmark({
  name: "humaneval",
  aliases: ["openai_humaneval", "human_eval", "human-eval"],
  about: "164 Python functions from signature and docstring (OpenAI)",
  hub: {
    repo: "openai/openai_humaneval",
    filesOf: () => ["openai_humaneval/test-00000-of-00001.parquet"],
  },
  maxTokens: 1024,
  row: rowSchema,
  toProblem: (row) => ({
    id: row.task_id,
    source: "humaneval",
    tests: {
      kind: "assert",
      entryPoint: row.entry_point,
      setup: "",
      cases: [`${row.test}\ncheck(${row.entry_point})\n`],
      programPrefix: row.prompt,
    },
    ...(row.canonical_solution === undefined
      ? {}
      : { solutions: [row.prompt + row.canonical_solution] }),
  }),
  styles: {
    chat: {
      about: "ours for instruct models: the function in a code block, one code block back",
      kind: "chat",
      stop: [],
      extract: "verifier",
      render: ({ prompt }) =>
        userMessage(
          `Complete this Python function. Answer with one code block that holds the whole function, ` +
            `with the imports it needs.\n\n\`\`\`python\n${prompt.trimEnd()}\n\`\`\``,
        ),
    },
    completion: {
      about: "ours for base models: the bare prompt, continued",
      kind: "completion",
      stop: ["\nclass ", "\ndef ", "\n#", "\n@", "\nif ", "\nprint", "\n```", "<|endoftext|>"],
      extract: "verifier",
      render: ({ prompt }) => userMessage(prompt),
    },
    evalscope: {
      about: "EvalScope: one user message; prompt + first code block",
      kind: "chat",
      stop: [],
      extract: "first_block_append",
      render: ({ prompt }) =>
        userMessage(
          "Read the following function signature and docstring, and fully implement the function " +
            "described. Your response should only contain the code for this function.\n" +
            prompt,
        ),
    },
    "human-eval": {
      about: "human-eval's own: the bare prompt, the completion appended as it is",
      kind: "completion",
      stop: [],
      extract: "append",
      render: ({ prompt }) => userMessage(prompt),
    },
    "lm-eval": {
      about: "lm-eval `humaneval`: the bare prompt, its five stop words",
      kind: "completion",
      stop: ["\nclass", "\ndef", "\n#", "\nif", "\nprint"],
      extract: "append",
      render: ({ prompt }) => userMessage(prompt),
    },
    "lm-eval-instruct": {
      about: "lm-eval `humaneval_instruct`: begins the assistant's answer (needs prefill)",
      kind: "chat",
      stop: [],
      extract: "to_fence_append",
      render: ({ prompt }) => [
        ...userMessage(
          "Write a solution to the following problem and make sure that it passes the tests:\n" +
            `\`\`\`python\n${prompt}\n\`\`\`\n`,
        ),
        {
          role: "assistant",
          content: `Here is the completed function:\n\`\`\`python\n${prompt}\n`,
        },
      ],
    },
    evalplus: { ...EVALPLUS_CHAT, render: ({ prompt }) => evalplusMessages(prompt.trim()) },
    "evalplus-base": {
      about: "EvalPlus direct completion: the stripped prompt, continued",
      kind: "completion",
      stop: [...EVALPLUS_STOP, "\ndef ", "\nclass ", "\nimport ", "\nfrom ", "\nassert "],
      extract: "append",
      render: ({ prompt }) => userMessage(`${prompt.trim()}\n`),
    },
  },
});
