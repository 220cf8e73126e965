import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { randomStream } from "../src/core/random.js";
import { openSandbox } from "../src/verify/sandbox/open.js";
import { createVerifier, defaultVerifierOptions } from "../src/verify/verify.js";
import type { Verifier } from "../src/verify/verify.js";
import { drawAnswer, MIXTURE } from "./answers.js";
import { INPUTS } from "./families/inputs.js";
import { FAMILIES, FAMILIES_OF } from "./families/table.js";
import { THEMES } from "./families/family.js";
import { drawProblem, writeProgram } from "./problems.js";
import type { DrawnProblem } from "./problems.js";

/** Some wrong programs never end. */
const LIMITS = { ...defaultVerifierOptions().limits, cpuMs: 500, wallMs: 3000 };

let verifier: Verifier;
beforeAll(async () => {
  const sandbox = await openSandbox({ workers: 2, requireIsolation: "none" });
  verifier = await createVerifier({ sandbox, limits: LIMITS });
});
afterAll(async () => {
  await verifier.close();
});

async function judge({ problem }: DrawnProblem, program: string) {
  const completion = `\`\`\`python\n${program}\n\`\`\``;
  const { verdict } = await verifier.verify({ problem, completion });
  return { verdict, program, statement: problem.prompt[0].content };
}

/** Two problems of each family of a theme. */
const sampleOf = (theme: (typeof THEMES)[number]) =>
  FAMILIES_OF[theme].flatMap((family) => {
    const split = family.transfer === true ? "transfer" : "train";
    const random = randomStream("programs", family.name);
    return [0, 1].map(() => drawProblem({ family, theme }, split, random));
  });

describe.each(THEMES)("the families of %s", (theme) => {
  test("have right programs that pass every test, however they read their input", async () => {
    const judged = sampleOf(theme).flatMap((drawn) =>
      drawn.family.right.flatMap((body) =>
        (drawn.input?.reads ?? [""]).map((_, reading) =>
          judge(drawn, writeProgram(drawn, drawn.fill(body), reading)),
        ),
      ),
    );
    const failed = (await Promise.all(judged)).filter(({ verdict }) => verdict !== "accepted");
    expect(failed).toEqual([]);
  });

  test("have wrong programs that fail", async () => {
    const judged = sampleOf(theme).flatMap((drawn) =>
      drawn.family.wrong.map((body) => judge(drawn, writeProgram(drawn, drawn.fill(body), 0))),
    );
    const passed = (await Promise.all(judged)).filter(({ verdict }) => verdict === "accepted");
    expect(passed).toEqual([]);
  });
});

test("a right body with a wrong way to read the input fails", async () => {
  const judged = FAMILIES.flatMap(({ family, theme }) => {
    const split = family.transfer === true ? "transfer" : "train";
    const drawn = drawProblem({ family, theme }, split, randomStream("reading", family.name));
    const input = INPUTS[family.inputs[0]];
    if (drawn.input !== input) return [];
    return input.badReads.map((_, reading) =>
      judge(
        drawn,
        writeProgram(
          { input: { ...input, reads: input.badReads }, signature: null },
          drawn.fill(family.right[0]),
          reading,
        ),
      ),
    );
  });
  const passed = (await Promise.all(judged)).filter(({ verdict }) => verdict === "accepted");
  expect(judged.length).toBeGreaterThan(100);
  expect(passed).toEqual([]);
});

describe("drawAnswer", () => {
  const always = { invited: 1, uninvited: 1 };
  const never = { invited: 0, uninvited: 0 };
  const right = { easy: 1, other: 1 };
  const draw = (mixture: typeof MIXTURE, count: number) => {
    const trained = FAMILIES.filter(({ family }) => family.transfer !== true);
    const random = randomStream("answers", count);
    return Array.from({ length: count }, (_, i) => {
      const drawn = drawProblem(trained[i % trained.length], "train", random);
      return { drawn, answer: drawAnswer(drawn, random, mixture) };
    });
  };
  const verify = ({ drawn, answer }: ReturnType<typeof draw>[number]) =>
    verifier.verify({ problem: drawn.problem, completion: answer });

  test("pays every right answer in a block", async () => {
    const results = await Promise.all(draw({ ...MIXTURE, block: always, right }, 112).map(verify));
    expect(results.map(({ reward }) => reward)).toEqual(results.map(() => 1));
  });

  test("pays nothing without a block, even where the expression is right", async () => {
    const results = await Promise.all(draw({ ...MIXTURE, block: never, right }, 336).map(verify));
    expect(results.filter(({ reward, extraction }) => reward !== 0 || extraction.format)).toEqual(
      [],
    );
  });

  test("mixes blocks and right programs as the table says", async () => {
    const results = await Promise.all(draw(MIXTURE, 672).map(verify));
    const share = (claim: (result: (typeof results)[number]) => boolean) =>
      results.filter(claim).length / results.length;
    const inBlock = share(({ extraction }) => extraction.format);
    const accepted = share(({ verdict }) => verdict === "accepted");
    // Standard errors: 0.019 and 0.013.
    expect(inBlock).toBeCloseTo((MIXTURE.block.invited + MIXTURE.block.uninvited) / 2, 1);
    expect(accepted).toBeGreaterThan(0.08);
    expect(accepted).toBeLessThan(0.18);
  });
});
