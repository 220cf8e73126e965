/**
 * GSM8K: grade-school word problems; the control that training on code did not hurt reasoning.
 *
 *     {"question": "Janet’s ducks lay …", "answer": "Janet sells … = <<16-3-4=9>>9 …\n#### 18"}
 *
 * Source: https://github.com/openai/grade-school-math. Two scores stand side by side: flexible (a
 * marked answer, else the last number) and strict (the number behind the last `####`).
 */
import { z } from "zod";
import { defineBenchmark, userMessage } from "./benchmark.js";

const rowSchema = z
  .object({ question: z.string(), answer: z.string() })
  .transform(({ question, answer }) => ({
    question,
    answer: (answer.split("####").at(-1) ?? "").trim(),
  }))
  .refine(({ answer }) => answer !== "", "answer has no number behind ####");

/** GSM8K. */
export const gsm8k = defineBenchmark({
  name: "gsm8k",
  aliases: ["openai/gsm8k", "grade-school-math"],
  about: "1,319 grade-school word problems with a number as the answer (OpenAI)",
  hub: { repo: "openai/gsm8k", filesOf: () => ["main/test-00000-of-00001.parquet"] },
  maxTokens: 512,
  row: rowSchema,
  // The rows carry no ids: their place in the file is one.
  toProblem: ({ answer }, index) => ({
    id: `gsm8k/${index}`,
    source: "gsm8k",
    tests: { kind: "answer", answer },
  }),
  styles: {
    chat: {
      about: "ours: step by step, the number behind #### on the last line",
      kind: "chat",
      stop: [],
      extract: "verifier",
      render: ({ question }) =>
        userMessage(
          `${question}\n\nThink step by step. End with a line that holds "#### " and the answer as a ` +
            "number, nothing else.",
        ),
    },
    completion: {
      about: "ours for base models: question and answer, continued",
      kind: "completion",
      stop: ["\nQuestion:", "<|endoftext|>"],
      extract: "verifier",
      render: ({ question }) => userMessage(`Question: ${question}\nAnswer:`),
    },
    evalscope: {
      about: "EvalScope without examples (`few_shot_num: 0`): the answer in \\boxed{}",
      kind: "chat",
      stop: [],
      extract: "verifier",
      render: ({ question }) =>
        userMessage(
          `${question}\nPlease reason step by step, and put your final answer within \\boxed{}.`,
        ),
    },
    "lm-eval": {
      about: "lm-eval `gsm8k` without examples (`--num_fewshot 0`)",
      kind: "completion",
      stop: ["Question:", "</s>", "<|im_end|>"],
      extract: "verifier",
      render: ({ question }) => userMessage(`Question: ${question}\nAnswer:`),
    },
  },
});
