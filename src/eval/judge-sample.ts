/** One completion through the style's extraction rule and the verifier. */
import type { EvalSample } from "../core/evaluation.js";
import type { Problem } from "../core/problem.js";
import { judgeAnswer } from "../verify/answer.js";
import { blockOf, extractProgram } from "../verify/extract.js";
import type { Verifier } from "../verify/verify.js";
import type { Completion } from "./completer.js";
import { EXTRACT_RULES, type Style } from "./style.js";

/** What is judged, and how. */
export interface JudgeInput {
  verifier: Verifier;
  problem: Problem;
  completion: Completion;
  style: Style;
  signal?: AbortSignal | undefined;
}

/** The part of a sample that judging decides. */
export type JudgedPart = Pick<
  EvalSample,
  "program" | "format" | "verdicts" | "verdict" | "passRate" | "strict" | "trust"
>;

/**
 * Judges one completion with all tests of its problem.
 *
 * @throws {SandboxError} when the sandbox failed, also on retry.
 */
export async function judgeSample(input: JudgeInput): Promise<JudgedPart> {
  const { verifier, problem, completion, style, signal } = input;
  const { completion: text, problem: judged } = prepare(completion.text, problem, style);
  const result = await verifier.verify({
    completion: text,
    problem: judged,
    maxTests: null,
    ...(signal === undefined ? {} : { signal }),
  });
  return {
    program: result.extraction.program,
    // Of what the model wrote, not of the block that a harness's rule was wrapped in.
    format: style.extract === "verifier" ? result.extraction.format : hasBlock(completion, problem),
    verdicts: result.tests.map(({ verdict }) => verdict.kind),
    verdict: result.verdict,
    passRate: result.passRate,
    strict: isStrictlyRight(problem, completion),
    trust: result.trust,
  };
}

/** The second score of problems with a number as the answer. */
function isStrictlyRight({ tests }: Problem, { text }: Completion): boolean | null {
  if (tests.kind !== "answer") return null;
  return judgeAnswer(text, tests.answer, "strict").isCorrect;
}

function hasBlock({ text }: Completion, { language, tests }: Problem): boolean {
  const entryPoint = tests.kind === "call" || tests.kind === "assert" ? tests.entryPoint : null;
  return extractProgram({ completion: text, language, entryPoint }).format;
}

/** Applies a harness's own rule: its program goes to the verifier as the one block there is. */
function prepare(text: string, problem: Problem, { extract }: Style) {
  if (extract === "verifier") return { completion: text, problem };
  const program = EXTRACT_RULES[extract](text, problem);
  const { tests } = problem;
  const bare = tests.kind === "assert" ? { ...tests, programPrefix: "" } : tests;
  return {
    completion: program === null ? "" : blockOf(program),
    problem: { ...problem, tests: bare },
  };
}
