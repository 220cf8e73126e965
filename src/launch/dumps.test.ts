/** Dumps of the releases as rollouts. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type Problem, problemSchema } from "../core/problem.js";
import { dumpMetrics, readDump, toRollouts } from "./dumps.js";

const dir = mkdtempSync(join(tmpdir(), "dumps-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const SYSTEM = "Answer with one Python program, in a block, and nothing but that program.";
const problemOf = (id: string, content: string): Problem =>
  problemSchema.parse({
    ...{ id, source: "apps" },
    prompt: [
      { role: "system", content: SYSTEM },
      { role: "user", content },
    ],
    tests: { kind: "stdio", cases: [{ input: "1 2\n", output: "3\n" }] },
  });
const problems = new Map(
  [
    problemOf("sum", "Print the sum.\nTwo numbers come on one line of the input.\n"),
    problemOf(
      "sum/more",
      "Print the sum.\nTwo numbers come on one line of the input.\nThen print it again.",
    ),
    problemOf("cafe", "Print cafe\u0301."),
    problemOf("twin/1", "Print one."),
    problemOf("twin/2", "Print one."),
  ].map((problem) => [problem.id, problem]),
);

/** A prompt as veRL dumps it: the chat template without its special tokens. */
const decoded = (content: string) => `system\n${SYSTEM}\nuser\n${content}\nassistant\n`;
const judge = () =>
  Promise.resolve({
    ...{ program: "", format: true, verdicts: ["accepted" as const], passRate: 1 },
    verdict: "accepted" as const,
  });

test("veRL 0.5 dumps no ground truth: the problem is found by its prompt", async () => {
  const path = join(dir, "5.jsonl");
  const asked = [
    "Print the sum.\nTwo numbers come on one line of the input.",
    "Print the sum.\nTwo numbers come on one line of the input.",
    "Print the sum.\nTwo numbers come on one line of the input.\nThen print it again.",
    "Print caf\u00e9.",
    "Print one.",
    "Print something else.",
  ];
  const lines = asked.map((content, i) =>
    JSON.stringify({ input: decoded(content), output: `${i}`, score: i / 10, step: 5, acc: 1 }),
  );
  // What its extras hold may be no number.
  writeFileSync(path, lines.join("\n").replace('"acc":1', '"acc": NaN') + "\n");
  const dump = (await readDump(path)) ?? [];
  expect(dumpMetrics(dump)["reward/score"]).toBeCloseTo(0.25);
  const rollouts = await toRollouts(dump, { step: 5, problems, judge });
  // Of two problems that ask the same, either could be meant.
  expect(rollouts.map((one) => [one.problemId, one.completion, one.group, one.sample])).toEqual([
    ["sum", "0", 0, 0],
    ["sum", "1", 0, 1],
    ["sum/more", "2", 1, 0],
    ["cafe", "3", 2, 0],
  ]);
});
