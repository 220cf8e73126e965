/** Programs in completions: continuations of a prompt, tags, and programs without a block. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Problem } from "../core/problem.js";
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
