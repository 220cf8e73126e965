/**
 * Eurus-2-RL-Data (PRIME-RL/Eurus-2-RL-Data) and other files in veRL's row format.
 *
 * One raw row:
 *
 *     {"data_source": "codeforces", "ability": "code",
 *      "prompt": [{"role": "system", "content": "When tackling complex reasoning tasks, …"},
 *                 {"role": "user", "content": "Title: …\n\nWrite Python code to solve the problem.
 *                   Present the code in \n```python\nYour code\n```\nat the end."}],
 *      "reward_model": {"style": "rule",
 *                       "ground_truth": "{\"inputs\": [\"1 2\\n\"], \"outputs\": [\"3\\n\"]}"},
 *      "extra_info": {"index": 0, "split": "train"}}
 *
 * The system message is PRIME's reasoning-action template and is left out. Rows of ability `math`
 * are not code. A ground truth with `fn_name` is a call problem.
 */
import type { ChatMessage } from "../../core/problem.js";
import { groundTruthField, messagesField, objectField, textField } from "../fields.js";
import type { RawRow, RowPlace, Source, SourceRow } from "../source.js";

/** Eurus-2-RL-Data. */
export const eurus: Source = {
  name: "eurus",
  summary: "Eurus-2-RL-Data and other files in veRL's row format",
  columns: ["prompt", "reward_model", "data_source"],
  where: {
    column: "ability",
    keep: (value) => value === "code",
    reason: "not_code",
  },
  read: readEurus,
};

function readEurus(row: RawRow, at: RowPlace): SourceRow {
  const source = textField(row, "data_source", at);
  const statement = stripAnswerInstructions(statementOf(messagesField(row, "prompt", at)));
  if (statement === "") return { drop: { reason: "no_statement" } };
  if (row["reward_model"] === null) return { drop: { reason: "null_ground_truth" } };
  const tests = groundTruthField(objectField(row, "reward_model", at)["ground_truth"]);
  if ("drop" in tests) return tests;
  const { index, split } = (row["extra_info"] ?? {}) as RawRow;
  return {
    draft: {
      id: null,
      source,
      statement,
      starter: "",
      tests,
      split: typeof split === "string" ? split : null,
      index: typeof index === "number" ? index : null,
    },
  };
}

/** The task: what the user says; without a user, all messages. */
function statementOf(messages: ChatMessage[]): string {
  const user = messages.find((message) => message.role === "user");
  return user?.content ?? messages.map((message) => message.content).join("\n");
}

// How PRIME asks for the answer. A template of ours asks too, and the two contradict each other.
const ANSWER_INSTRUCTIONS =
  /\s*Write (?:Python|a Python) (?:code|program|solution) to solve the problem\.\s*Present the code in\s*```python\s*Your code\s*```\s*at the end\.?\s*$/i;

/** Takes PRIME's instructions on how to answer off the end of a task. */
export function stripAnswerInstructions(statement: string): string {
  return statement.replace(ANSWER_INSTRUCTIONS, "").trim();
}
