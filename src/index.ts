/**
 * The library: the doors of the rooms, by name. What stands here is promised; everything else of
 * the package is closed.
 */
export {
  CheckpointError,
  ConfigError,
  DataError,
  LaunchError,
  RlvrError,
  SandboxError,
  ShapeError,
} from "./core/errors.js";
export { type ChatMessage, type Problem, problemSchema, type Tests } from "./core/problem.js";
export type { OnProgress, Progress } from "./core/progress.js";
export type { Rollout } from "./core/rollout.js";
export { describeVerdict, type Verdict, VERDICT_KINDS, type VerdictKind } from "./core/verdict.js";
export { parseGroundTruth } from "./formats/ground-truth.js";
export { resolveConfig } from "./config/resolve.js";
export {
  createVerifier,
  defaultVerifierOptions,
  type Verifier,
  type VerifierOptions,
  type VerifyRequest,
  type VerifyResult,
} from "./verify/verify.js";
export {
  type ComputeScore,
  loadCustomReward,
  type RewardInput,
  withCustomReward,
} from "./verify/custom-reward.js";
export { openSandbox } from "./verify/sandbox/open.js";
export type { Sandbox } from "./verify/sandbox.js";
export { planPrepare, prepare, type PrepareOptions } from "./prepare/prepare.js";
export { train, type TrainEvent, type TrainSummary } from "./train/train.js";
export { launch } from "./launch/launch.js";
export { mergeCheckpoint, type MergeOptions } from "./merge/merge.js";
export { evaluate, EVALUATE_DEFAULTS, type EvaluateSettings } from "./eval/evaluate.js";
export { endpointCompleter } from "./eval/endpoint-completer.js";
export { localCompleter } from "./eval/local-completer.js";
export { type Report, writeReport } from "./report/report.js";
export { type RunningService, startService } from "./service/server.js";
