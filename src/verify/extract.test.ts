/** Programs in completions: continuations of a prompt, tags, and programs without a block. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Problem } from "../core/problem.js";
import { blockOf, extractProgram } from "./extract.js";
import { createVerifier, type Verifier } from "./verify.js";

describe("a completion that continues the prompt's function", () => {
  let verifier: Verifier;
  beforeAll(async () => {
    verifier = await createVerifier({ workers: 1 });
  });
  afterAll(() => verifier.close());

  const problem: Problem = {
    id: "p",
    source: "test",
    prompt: [{ role: "user", content: "" }],
    language: "python",
    tests: {
      kind: "assert",
      entryPoint: "add",
      setup: "",
      cases: ["assert add(1, 2) == 3"],
      programPrefix: 'def add(a, b):\n    """add"""\n',
    },
  };
  const BODY = "    return a + b\n";

  test.each([
    ["its body", BODY],
    ["an end token behind it", "    return a + b<|im_end|>"],
    ["an end token on its own line", `${BODY}<|endoftext|>`],
    ["thinking before it", `<think>easy</think>${BODY}`],
    ["thinking on lines before it", `<think>\neasy\n</think>\n\n${BODY}`],
    ["a closing fence", `${BODY}\`\`\``],
    ["a closing fence and prose", `${BODY}\`\`\`\nThis adds.\n`],
    ["a closing fence, prose and another block", `${BODY}\`\`\`\nSo:\n\`\`\`\nadd(1, 2)\n\`\`\`\n`],
    ["a body with a call at the margin", `${BODY}\n[add(1, 2) for _ in range(2)]\n`],
    ["prose and the whole function", `Here is the code:\n\ndef add(a, b):\n${BODY}`],
    ["prose, the whole function, prose", `Here:\n\ndef add(a, b):\n${BODY}\nIt adds a and b.\n`],
    ["the whole function in a block", `Here:\n\`\`\`python\ndef add(a, b):\n${BODY}\`\`\`\n`],
    ["the whole function and a closing fence", `def add(a, b):\n${BODY}\`\`\`\n`],
  ])("may be %s", async (_, completion) => {
    expect((await verifier.verify({ completion, problem })).verdict).toBe("accepted");
  });

  test("is no program while it still thinks", async () => {
    const completion = `<think>\nmaybe:\n${BODY}`;
    expect((await verifier.verify({ completion, problem })).verdict).toBe("no_program");
  });
});

describe("a program without a block", () => {
  const extract = (completion: string) =>
    extractProgram({ completion, language: "python", entryPoint: null }).program;

  test.each([
    "[print(x) for x in [n]]",
    "a[b[0]] = n",
    "a[b[0]][c(1)].d += n",
    "a[b[0]].append(n)",
    "(a, b) = n, 2",
    "[a, b] = n, 2",
    "*a, = range(n)",
    "*a, b = range(n)",
    "a[0], b[c[0]] = n, 2",
    "' '.join(['a']).strip()",
    "n = n + \\\n0",
    "if n > 0 and \\\nn < 9: print(n)",
  ])("keeps the statement %s", (statement) => {
    const program = `n = int(input())\n${statement}\nprint(n)\n`;
    expect(extract(`Here it is:\n\n${program}\nIt reads n (see above).\n`)).toBe(program);
  });

  test.each([
    "[1] is a reference [2]",
    "(a, b) is a pair",
    "*emphasis* = nothing",
    "[see this](https://a.b) for more",
  ])("does not take %s for one", (line) => {
    const found = extract(`print(1)\n\n\nSo:\n${line}\nEnd of text.\n`);
    expect(found?.startsWith("print(1)")).toBe(true);
  });

  test("a line that almost is one costs no more than its length", () => {
    const startedAt = performance.now();
    for (const line of [
      "a[(".repeat(50_000),
      "a[0]".repeat(50_000),
      "(a,".repeat(50_000),
      `[${" for ".repeat(50_000)}]`,
    ]) {
      extract(`${line}\n`);
    }
    expect(performance.now() - startedAt).toBeLessThan(2000);
  });
});

test.each([
  ["python", "python3.10"],
  ["python", "python3.13"],
  ["python", "ipython3"],
  ["python", "Python 3"],
  ["cpp", "c++14"],
  ["cpp", "cpp23"],
  ["cpp", "gnu++17"],
  ["java", "java21"],
])("a %s program may be tagged %s", (language, tag) => {
  const completion = `\`\`\`${tag}\nx = 1\n\`\`\`\n`;
  const found = extractProgram({ completion, language, entryPoint: null });
  expect(found).toMatchObject({ program: "x = 1\n", reason: "block" });
});

test("a tag of another language is none of this one", () => {
  for (const tag of ["pyx", "c", "c11", "javascript", "pythonic"]) {
    for (const language of ["python", "cpp", "java"]) {
      const completion = blockOf("x = 1", tag);
      expect(extractProgram({ completion, language, entryPoint: null }).program).toBeNull();
    }
  }
});
