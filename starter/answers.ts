/**
 * The answers that the starter model imitates before any reinforcement: some in a closed code
 * block, some as prose with code in it; some right, most with a beginner's error.
 *
 * How often each happens decides what is left to learn, so the shares stand here as one table.
 */
import type { RandomStream } from "../src/core/random.js";
import { writeProgram } from "./problems.js";
import type { DrawnProblem } from "./problems.js";

/** Shares of the mixture, each a probability. */
export interface Mixture {
  /** A closed code block, where the wording invites one and where it does not. */
  block: { invited: number; uninvited: number };
  /** A right program, in families that beginners know and in the others. */
  right: { easy: number; other: number };
  /** Of the wrong programs: the typical wrong body; else a wrong reading or nothing printed. */
  wrongBody: number;
  /** Of the wrong bodies: the family's dominant one. */
  dominant: number;
}

/** The mixture of the starter model. */
export const MIXTURE: Mixture = {
  block: { invited: 0.7, uninvited: 0.25 },
  right: { easy: 0.6, other: 0.2 },
  wrongBody: 0.8,
  dominant: 0.7,
};

const pick = <T>(random: RandomStream, items: readonly T[]) => items[random.integer(items.length)];

/** Draws one answer to a problem. */
export function drawAnswer(drawn: DrawnProblem, random: RandomStream, mixture: Mixture): string {
  const { block, right } = mixture;
  const isBlock = random.next() < (drawn.invitesBlock ? block.invited : block.uninvited);
  const isRight = random.next() < (drawn.family.easy === true ? right.easy : right.other);
  const body = isRight ? pick(random, drawn.family.right) : drawWrongBody(drawn, random, mixture);
  return isBlock ? inBlock(drawn, body, isRight, random, mixture) : inProse(drawn, body, random);
}

function drawWrongBody({ family }: DrawnProblem, random: RandomStream, mixture: Mixture): string {
  return random.next() < mixture.dominant ? family.wrong[0] : pick(random, family.wrong);
}

function inBlock(
  drawn: DrawnProblem,
  body: string,
  isRight: boolean,
  random: RandomStream,
  mixture: Mixture,
): string {
  const program =
    isRight || random.next() < mixture.wrongBody
      ? wholeProgram(drawn, body, random)
      : brokenProgram(drawn, pick(random, drawn.family.right), random);
  const opening = random.next() < 0.15 ? "Here is the program:\n" : "";
  return `${opening}\`\`\`python\n${program}\n\`\`\``;
}

function wholeProgram(drawn: DrawnProblem, body: string, random: RandomStream): string {
  const reading = drawn.input === null ? 0 : random.integer(drawn.input.reads.length);
  return writeProgram(drawn, drawn.fill(body), reading);
}

/** A right body in a program that reads its input wrongly or gives nothing back. */
function brokenProgram(drawn: DrawnProblem, body: string, random: RandomStream): string {
  const program = wholeProgram(drawn, body, random);
  if (drawn.input === null) return program.replace(/return (.*)$/, "print($1)");
  if (random.next() < 0.3) return program.replace(/print\(\*?(.*)\)$/, "r = $1");
  return writeProgram(
    { input: { ...drawn.input, reads: drawn.input.badReads }, signature: null },
    drawn.fill(body),
    random.integer(drawn.input.badReads.length),
  );
}

/** Answers that no judge can run: what a model writes that has not learnt the form yet. */
function inProse(drawn: DrawnProblem, body: string, random: RandomStream): string {
  const result = drawn.fill(body.split("\n").at(-1)!);
  const z = random.next();
  if (z < 0.65) return `The answer is ${result}.`;
  if (z < 0.9) return `Use ${result} for this.`;
  return `\`\`\`python\n${wholeProgram(drawn, body, random)}\nThis is the answer.`;
}
