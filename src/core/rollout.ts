/**
 * The rollout: one sampled completion with its log-probabilities, verdicts and reward, as one line
 * of `rollouts/step_NNNNNN.jsonl`.
 */
import type { ChatMessage } from "./problem.js";
import type { VerdictKind } from "./verdict.js";

/** One sampled completion and what was made of it. Token arrays all have T response tokens. */
export interface Rollout {
  step: number;
  /** Index of the prompt instance in the step's batch; the rollouts of one instance are a group. */
  group: number;
  /** Index of the sample in its group. */
  sample: number;
  problemId: string;
  prompt: ChatMessage[];
  completion: string;
  /** Why sampling ended: an end token, or the token limit. */
  finish: "stop" | "length";
  /** Prompt length in tokens. */
  promptTokens: number;
  responseTokens: number;
  /** [T] Response token ids. */
  tokens: number[];
  /** [T] The text of each token, for display. */
  pieces?: string[];
  /** [T] Log-probabilities under the policy that sampled. */
  logprobs: number[];
  /** [T] Advantages used by the update; null until computed. */
  advantages: number[] | null;
  /** The program judged; null when none was found. */
  program: string | null;
  /** True when the completion held a proper code block. */
  format: boolean;
  /** One verdict kind per test that ran. */
  verdicts: VerdictKind[];
  /** The first failing kind, or `accepted`. */
  verdict: VerdictKind;
  passRate: number;
  reward: number;
}
