/**
 * GSM8K (openai/gsm8k).
 *
 * One raw row:
 *
 *     {"question": "Natalia sold clips to 48 of her friends in April, …",
 *      "answer": "Natalia sold 48/2 = <<48/2=24>>24 clips in May.\n…\n#### 72"}
 */
import { textField } from "../fields.js";
import type { Source } from "../source.js";

/** GSM8K. */
export const gsm8k: Source = {
  name: "gsm8k",
  summary: "GSM8K (openai/gsm8k)",
  columns: ["question", "answer"],
  recognises: (row) => typeof row["answer"] === "string" && row["answer"].includes("####"),
  read: (row, at) => {
    const stated = /####\s*(\S[^\n]*)/.exec(textField(row, "answer", at))?.[1];
    if (stated === undefined) return { drop: { reason: "unparsable_ground_truth" } };
    return {
      draft: {
        id: null,
        source: "gsm8k",
        statement: textField(row, "question", at).trim(),
        starter: "",
        tests: { kind: "answer", answer: stated.trim().replaceAll(",", "") },
        split: null,
        index: null,
      },
    };
  },
};
