/**
 * Problems drawn from the families: a wording, tests with their expected outputs, and the programs
 * that answer it rightly and wrongly. A problem is a pure function of its name in a random stream.
 *
 * Splits: a wording (family, input, frame, description, question, constant) is either trained on or
 * held out, by a hash of it; some constants are held out altogether. Families marked `transfer` and
 * the unseen frames are never trained on.
 */
import type { Problem } from "../src/core/problem.js";
import { randomStream } from "../src/core/random.js";
import type { RandomStream } from "../src/core/random.js";
import { formatJson, parseJson } from "../src/formats/lossless-json.js";
import type { Constant, ConstantRange, Family, Theme, Value } from "./families/family.js";
import { INPUTS } from "./families/inputs.js";
import type { InputKind } from "./families/inputs.js";
import { FAMILIES } from "./families/table.js";
import {
  FUNCTION_FRAMES,
  FUNCTION_NAMES,
  PROGRAM_FRAMES,
  UNSEEN_FUNCTION_FRAMES,
  UNSEEN_PROGRAM_FRAMES,
} from "./frames.js";

/** The parts of the problem set. */
export const SPLITS = ["train", "heldout", "transfer", "phrasing"] as const;

/** One part of the problem set. */
export type Split = (typeof SPLITS)[number];

/** Tests of each problem. */
export const TESTS_PER_PROBLEM = 6;

/** A problem with what its programs are made of. */
export interface DrawnProblem {
  problem: Problem;
  family: Family;
  theme: Theme;
  /** True where the wording makes an untrained model put its program into a code block. */
  invitesBlock: boolean;
  /** How the input is given; null where a function is asked for. */
  input: InputKind | null;
  /** The line that opens the function, without its colon; null for programs. */
  signature: string | null;
  /** Writes the constant into a body. */
  fill: (body: string) => string;
}

/** Families that a split draws from. */
export function familiesOf(split: Split): { family: Family; theme: Theme }[] {
  return FAMILIES.filter(({ family }) => (family.transfer === true) === (split === "transfer"));
}

/** Draws one problem of a family for a split; equal streams give equal problems. */
export function drawProblem(
  { family, theme }: { family: Family; theme: Theme },
  split: Split,
  random: RandomStream,
): DrawnProblem {
  for (;;) {
    const wording = drawWording(family, split, random);
    if (split === "train" && isHeldOut(wording)) continue;
    if (split === "heldout" && !isHeldOut(wording)) continue;
    return buildProblem({ family, theme }, split, wording, random);
  }
}

interface Wording {
  family: string;
  text: string;
  constant: Constant;
  invitesBlock: boolean;
  input: InputKind;
  /** Null where a program is asked for. */
  functionName: string | null;
}

const pick = <T>(random: RandomStream, items: readonly T[]) => items[random.integer(items.length)];

function drawWording(family: Family, split: Split, random: RandomStream): Wording {
  const constant = drawConstant(family.constant, random);
  const ask = pick(random, family.asks).replaceAll("{k}", constant.text);
  const isCall = family.callable === true && random.integer(4) === 0;
  const input: InputKind = INPUTS[isCall ? family.inputs[0] : pick(random, family.inputs)];
  const shared = { family: family.name, constant, input };
  if (isCall) {
    const frame = pick(random, split === "phrasing" ? UNSEEN_FUNCTION_FRAMES : FUNCTION_FRAMES);
    const functionName = pick(random, FUNCTION_NAMES);
    const text = frame.say(`${functionName}(${input.names.join(", ")})`, ask);
    return { ...shared, text, functionName, invitesBlock: frame.invitesBlock };
  }
  const frame = pick(random, split === "phrasing" ? UNSEEN_PROGRAM_FRAMES : PROGRAM_FRAMES);
  const text = frame.say(pick(random, input.descriptions), ask);
  return { ...shared, text, functionName: null, invitesBlock: frame.invitesBlock };
}

function drawConstant(range: ConstantRange | undefined, random: RandomStream): Constant {
  if (range === undefined) return { n: NaN, text: "" };
  if ("letters" in range) return { n: NaN, text: pick(random, [...range.letters]) };
  const n = range.low + random.integer(range.high - range.low + 1);
  return { n, text: String(n) };
}

/** One wording in five, and every constant divisible by five, is never trained on. */
function isHeldOut({ family, text, constant }: Wording): boolean {
  return constant.n % 5 === 0 || randomStream("held out", family, text).next() < 0.2;
}

function buildProblem(
  { family, theme }: { family: Family; theme: Theme },
  split: Split,
  { text, constant, input, functionName, invitesBlock }: Wording,
  random: RandomStream,
): DrawnProblem {
  const fill = (body: string) => body.replaceAll("{k}", constant.text);
  const signature = functionName === null ? null : `def ${functionName}(${input.names.join(", ")})`;
  const cases = drawCases(family, constant, input, random);
  const shell = { input: functionName === null ? input : null, signature };
  const problem: Problem = {
    id: `starter/${family.name}`,
    source: "starter",
    prompt: [{ role: "user", content: text }],
    tests:
      functionName === null
        ? {
            kind: "stdio",
            cases: cases.map(({ values, answer }) => ({
              input: input.write(values) + "\n",
              output: printed(answer) + "\n",
            })),
          }
        : {
            kind: "call",
            entryPoint: functionName,
            cases: cases.map(({ values, answer }) => ({
              args: jsonText(values),
              expected: jsonText(answer),
            })),
          },
    language: "python",
    solutions: [writeProgram(shell, fill(family.right[0]), 0)],
    tags: { family: family.name, theme, split },
  };
  return { problem, family, theme, invitesBlock, fill, ...shell };
}

/**
 * The edges first, then drawn values. A value whose answer equals the one before is drawn again a
 * few times, so that no program passes by always giving the same answer.
 */
function drawCases(family: Family, constant: Constant, input: InputKind, random: RandomStream) {
  const cases = (family.edges?.(constant) ?? []).map((values) => ({
    values,
    answer: family.answer(values, constant),
  }));
  while (cases.length < TESTS_PER_PROBLEM) {
    const last = cases.at(-1);
    for (let tries = 0; ; tries++) {
      const values = input.draw(random, family.bounds);
      const answer = family.answer(values, constant);
      if (tries < 30 && last !== undefined && printed(answer) === printed(last.answer)) continue;
      if (tries < 60 && (printed(answer) === "" || !Number.isFinite(Number(answer) || 0))) continue;
      cases.push({ values, answer });
      break;
    }
  }
  return cases;
}

/** JSON as the rows of data sets write it, with a blank after each comma. */
const jsonText = (value: Value | Value[]) => formatJson(parseJson(JSON.stringify(value)));

const printed = (answer: Value) => (Array.isArray(answer) ? answer.join(" ") : String(answer));

/**
 * Puts a body into a whole program: reading it first and printing what it comes to, or as a
 * function that returns it. `reading` picks one of the input's ways to be read.
 */
export function writeProgram(
  { input, signature }: Pick<DrawnProblem, "input" | "signature">,
  body: string,
  reading: number,
): string {
  const lines = body.split("\n");
  const result = lines.pop()!;
  if (signature !== null || input === null) {
    return [`${signature}:`, ...[...lines, `return ${result}`].map((line) => `    ${line}`)].join(
      "\n",
    );
  }
  return [input.reads[reading], ...lines, `print(${result})`].join("\n");
}

/** Draws `count` problems per family of a split, all with different wordings, in a mixed order. */
export function drawSplit(split: Split, count: number, seed: number): DrawnProblem[] {
  const drawn = familiesOf(split).flatMap(({ family, theme }) => {
    const random = randomStream(seed, "starter", split, family.name);
    const byText = new Map<string, DrawnProblem>();
    // A family may have fewer wordings than asked for.
    for (let tries = 0; byText.size < count && tries < count * 40; tries++) {
      const next = drawProblem({ family, theme }, split, random);
      const text = next.problem.prompt[0].content;
      if (!byText.has(text)) byText.set(text, next);
    }
    return [...byText.values()].map((one, i) => ({
      ...one,
      problem: { ...one.problem, id: `starter/${split}/${family.name}/${i + 1}` },
    }));
  });
  const mixed = randomStream(seed, "starter", split, "order").shuffle(drawn);
  return mixed.map((one, index) => {
    const tags = { ...one.problem.tags, index: String(index) };
    return { ...one, problem: { ...one.problem, tags } };
  });
}
