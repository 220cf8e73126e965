// The verifier in twenty lines: npx tsx examples/verifier.ts
import { createVerifier, defaultVerifierOptions, type Problem } from "code-rlvr";

const problem: Problem = {
  id: "double",
  source: "mine",
  prompt: [{ role: "user", content: "Read a number and print twice it." }],
  language: "python",
  tests: {
    kind: "stdio",
    cases: ["1", "2", "-7"].map((input) => ({ input, output: String(2 * Number(input)) })),
  },
};
const programs = ["print(2 * int(input()))", "print(int(input()) ** 2)", "import os; os._exit(0)"];

const verifier = await createVerifier(defaultVerifierOptions());
for (const program of programs) {
  const completion = "```python\n" + program + "\n```";
  const { verdict, passRate, reward } = await verifier.verify({ completion, problem });
  console.log(`${program}: ${verdict}, ${passRate.toFixed(2)} of the tests, reward ${reward}`);
}
await verifier.close();
