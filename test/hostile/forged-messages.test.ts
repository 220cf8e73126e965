/**
 * Messages that a program writes itself, past the machinery that would have written them: whatever
 * they hold, the verdict is the program's own failure and never an error of ours.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tests } from "../../src/core/problem.js";
import { blockOf } from "../../src/verify/extract.js";
import { createVerifier, type Verifier } from "../../src/verify/verify.js";
import { calling, problemOf } from "./hostile-program.js";

const CALL = calling("[1]", "5");
const ASSERT: Tests = {
  kind: "assert",
  entryPoint: "f",
  setup: "",
  cases: ["assert f(1) == 5"],
  programPrefix: "",
};

const nested = (depth: number) =>
  `["return","1",${'["l",'.repeat(depth)}null${"]".repeat(depth)},null]`;

const ANSWERS = [
  ...[600, 1500, 3000, 6000, 100_000].map(nested),
  '["return","1",["d",["sa"]],null]',
  '["return","1",["d",[["l"],"i1"]],null]',
  '["return","1",["d",["i1","i2"],["s1","i2"]],null]',
  '["return","1",["o"],null]',
  '["return","1",["N"],null]',
  '["return","1",[],null]',
  '["return","1",["r","x"],null]',
  '["return","1",["T","timezone","x"],null]',
  '["return","1",["R","1","0"],null]',
  '["return","1",["D","x"],null]',
  '["return","1",["b","zz"],null]',
  '["return","1",["c","x","y"],null]',
  '["return","1",["o","0","iterator","x"],[["l"]]]',
  '["return","1",["y","5"],null]',
  '["return","1","",null]',
  '["return","1","ix",null]',
  '["return","1","f5x",null]',
  '["return","1","f0x5",null]',
  '["return","1",5,null]',
  '["return","1",{"toString":5},null]',
  '["return","1","i5",{"toString":5}]',
  '["return",{"a":1},"i5",null]',
  '["return","1"]',
  '["raise","1",{"toString":1},null,null]',
  '["raise","1","AssertionError","x",{"toString":1}]',
  '["raise",null,["a"],{},5]',
  '["raise","1"]',
  '["call","1",["own","0"],["l"],["d"],"false"]',
  '["call","1",{"a":1},["l"],["d"],false]',
  '["call","1",["attr",["attr"],5],["l"],["d"],false]',
  '["get","1",[]]',
  '["get","1",["own",["x"]]]',
  '["result","0","pass","","",false,""]',
  '["ready",[]]',
  '{"0":"return"}',
  '"return"',
  "",
  "[",
];
const LOADS = [
  '["ready"]',
  '["ready",5]',
  '["ready",[{"toString":5}]]',
  '["ready",[["f","callable",{"toString":5}]]]',
  '["failed"]',
  '["failed","compile_error",{"toString":5}]',
  '["failed","runtime_error",{"toString":5}]',
  '["failed",{"toString":5},"x"]',
  '["failed","bad_problem","x"]',
  `["failed","runtime_error",${"[".repeat(5000)}${"]".repeat(5000)}]`,
];

const forging = (message: string) =>
  `import os\ndef f(x):\n    os.write(3, ${JSON.stringify(message)}.encode() + b"\\n")\n    return 1\n`;
const forgingAtLoad = (message: string) =>
  `import os\nos.write(3, ${JSON.stringify(message)}.encode() + b"\\n")\ndef f(x): return 1\n`;
const short = (message: string) => (message.length > 80 ? `${message.slice(0, 80)}…` : message);

describe.each([
  ["calls", CALL],
  ["asserts", ASSERT],
] as [string, Tests][])("forged messages, %s", (_, tests) => {
  let verifier: Verifier;
  beforeAll(async () => {
    verifier = await createVerifier({ workers: 1, reuse: false, retries: 0 });
  });
  afterAll(() => verifier.close());

  const judge = (program: string, of = tests) =>
    verifier.verify({ completion: blockOf(program), problem: problemOf(of) });

  test.each(ANSWERS.map((message) => [short(message), message]))(
    "an answer %s",
    async (_, text) => {
      const result = await judge(forging(text));
      expect(["runtime_error", "wrong_answer"]).toContain(result.verdict);
      expect(result.reward).toBe(0);
    },
  );

  test.each(LOADS.map((message) => [short(message), message]))("at load %s", async (_, text) => {
    const result = await judge(forgingAtLoad(text));
    expect(["runtime_error", "wrong_answer", "compile_error"]).toContain(result.verdict);
    expect(result.reward).toBe(0);
  });

  test("the next program is judged right", async () => {
    expect((await judge("def f(x): return 5")).verdict).toBe("accepted");
  });
});

test("alternatives that are no JSON are the problem's fault", async () => {
  const verifier = await createVerifier({ workers: 1 });
  const cases = [{ args: "[1]", expected: "5", alternatives: ["6", "{"] }];
  const tests: Tests = { kind: "call", entryPoint: "f", cases };
  const result = await verifier.verify({
    completion: blockOf("def f(x): return 5"),
    problem: problemOf(tests),
  });
  await verifier.close();
  expect(result).toMatchObject({ verdict: "bad_problem", reward: null });
});
