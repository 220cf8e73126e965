/**
 * Sentence frames: the ways a task is put into words. Frames of the `phrasing` split are never
 * trained on, so that it can be told how far a model carries what it learnt to other sentences.
 */

/** A way to ask for a program. */
export interface ProgramFrame {
  say: (description: string, ask: string) => string;
  /** True where answers of the untrained model mostly hold a code block; see answers.ts. */
  invitesBlock: boolean;
}

/** A way to ask for a function. */
export interface FunctionFrame {
  say: (signature: string, ask: string) => string;
  invitesBlock: boolean;
}

/** Frames for programs that read and print. */
export const PROGRAM_FRAMES: ProgramFrame[] = [
  { say: (d, a) => `Read ${d} and print ${a}.`, invitesBlock: true },
  { say: (d, a) => `Given ${d}, print ${a}.`, invitesBlock: false },
  { say: (d, a) => `Write a program that reads ${d}. Print ${a}.`, invitesBlock: true },
  { say: (d, a) => `Input: ${d}. Output: ${a}.`, invitesBlock: false },
  { say: (d, a) => `From ${d}, output ${a}.`, invitesBlock: false },
  { say: (d, a) => `You get ${d}. Print ${a}.`, invitesBlock: true },
  { say: (d, a) => `Print ${a}. The input is ${d}.`, invitesBlock: false },
  { say: (d, a) => `The input is ${d}. Output ${a}.`, invitesBlock: true },
  { say: (d, a) => `Take ${d} and output ${a}.`, invitesBlock: false },
  { say: (d, a) => `Output ${a}, given ${d}.`, invitesBlock: true },
];

/** Frames for functions. */
export const FUNCTION_FRAMES: FunctionFrame[] = [
  { say: (f, a) => `Write a function ${f} that returns ${a}.`, invitesBlock: true },
  { say: (f, a) => `Define ${f}. It returns ${a}.`, invitesBlock: false },
  { say: (f, a) => `Function ${f}: return ${a}.`, invitesBlock: false },
  { say: (f, a) => `Write ${f}. Return ${a}.`, invitesBlock: true },
];

/** Frames for programs that nothing is trained on. */
export const UNSEEN_PROGRAM_FRAMES: ProgramFrame[] = [
  { say: (d, a) => `Please print ${a}. You read ${d}.`, invitesBlock: true },
  { say: (d, a) => `Task: from ${d}, print ${a}.`, invitesBlock: false },
  { say: (d, a) => `Here is ${d}; output ${a}.`, invitesBlock: true },
];

/** Frames for functions that nothing is trained on. */
export const UNSEEN_FUNCTION_FRAMES: FunctionFrame[] = [
  { say: (f, a) => `Please write ${f}, returning ${a}.`, invitesBlock: true },
];

/** Names that functions are given. */
export const FUNCTION_NAMES = ["f", "solve", "compute", "answer"];
