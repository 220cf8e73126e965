/**
 * HumanEval (openai/human-eval, openai_humaneval) and files of its shape.
 *
 * One raw row, shortened:
 *
 *     {"task_id": "HumanEval/0",
 *      "prompt": "from typing import List\n\n\ndef has_close_elements(numbers: List[float], …",
 *      "entry_point": "has_close_elements",
 *      "canonical_solution": "    for idx, elem in enumerate(numbers):\n …",
 *      "test": "def check(candidate):\n    assert candidate([1.0, 2.0], 0.3) == True\n …"}
 *
 * The task is to complete the prompt, so a program may also be its continuation.
 */
import { textField } from "../fields.js";
import type { Source } from "../source.js";

/** HumanEval. */
export const humaneval: Source = {
  name: "humaneval",
  summary: "HumanEval and files of its shape",
  columns: ["task_id", "prompt", "entry_point", "test"],
  read: (row, at) => {
    const prompt = textField(row, "prompt", at);
    const entryPoint = textField(row, "entry_point", at);
    const solution = row["canonical_solution"];
    return {
      draft: {
        id: textField(row, "task_id", at).toLowerCase(),
        source: "humaneval",
        statement: `Complete this function:\n\`\`\`python\n${prompt.trimEnd()}\n\`\`\``,
        task: prompt,
        starter: "",
        tests: {
          kind: "assert",
          entryPoint,
          setup: "",
          cases: [`${textField(row, "test", at).trimEnd()}\n\ncheck(${entryPoint})`],
          programPrefix: prompt,
        },
        split: "test",
        index: null,
        ...(typeof solution === "string" && { solutions: [prompt + solution] }),
      },
    };
  },
};
