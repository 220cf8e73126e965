/**
 * What the service's routes take and give, as schemas: requests are parsed by them, and the OpenAPI
 * document is made of them.
 */
import { z } from "zod";
import { problemSchema } from "../core/problem.js";
import { VERDICT_KINDS } from "../core/verdict.js";

const optionsSchema = z
  .strictObject({
    max_tests: z.int().positive().nullable().optional().describe("Most tests to run, seeded."),
    deadline_ms: z
      .number()
      .positive()
      .optional()
      .describe("Longest wait for a free sandbox before the answer is 504."),
  })
  .optional();

const itemSchema = z.strictObject({
  problem: problemSchema.optional(),
  problem_id: z.string().optional().describe("Names one of `problems` instead of `problem`."),
  completion: z.string(),
});

/** `POST /verify`: one completion, several of one problem, or a list of items. */
export const verifyRequestSchema = z.strictObject({
  problem: problemSchema.optional(),
  completion: z.string().optional(),
  completions: z.array(z.string()).optional(),
  problems: z.array(problemSchema).optional(),
  items: z.array(itemSchema).optional(),
  stream: z.boolean().optional().describe("Answer one JSON line per result as it comes."),
  options: optionsSchema,
});

const verdictSchema = z.looseObject({ kind: z.enum(VERDICT_KINDS) });

/** One judged completion. */
export const verifyResultSchema = z.looseObject({
  problemId: z.string(),
  extraction: z.looseObject({
    program: z.string().nullable(),
    format: z.boolean(),
    reason: z.string(),
  }),
  tests: z.array(z.looseObject({ index: z.int(), verdict: verdictSchema })),
  totalTests: z.int(),
  passRate: z.number(),
  verdict: z.enum(VERDICT_KINDS),
  reward: z.number().nullable(),
});

/** `POST /verify` with one completion answers a result, otherwise this. */
export const verifyResponseSchema = z.strictObject({ results: z.array(verifyResultSchema) });

/** `POST /reward`: the arguments of veRL's compute_score. */
export const rewardRequestSchema = z.looseObject({
  data_source: z.string(),
  solution_str: z.string(),
  ground_truth: z.unknown().describe("The row's ground truth: a JSON string, or any JSON value."),
  extra_info: z.record(z.string(), z.unknown()).nullish(),
});

/** The same numeric keys for every sample, as veRL's reward loop needs them. */
export const rewardResponseSchema = z.object({
  score: z.number(),
  pass_rate: z.number(),
  format: z.number(),
  passed: z.number(),
  total: z.number(),
  compile_error: z.number(),
  runtime_error: z.number(),
  wrong_answer: z.number(),
  time_limit: z.number(),
  bad_problem: z.number(),
  infra_error: z.number(),
});

/** The sandbox measures times up to 71 minutes. */
const MOST_SECONDS = 3600;
/** More memory than machines have. */
const MOST_MEGABYTES = 2 ** 24;
const secondsSchema = z.number().positive().max(MOST_SECONDS).nullish();

/** `POST /run_code` as SandboxFusion's clients send it; unknown fields are ignored. */
export const runCodeRequestSchema = z.looseObject({
  code: z.string(),
  language: z.string().nullish(),
  stdin: z.string().nullish(),
  compile_timeout: secondsSchema,
  run_timeout: secondsSchema,
  memory_limit_MB: z.number().max(MOST_MEGABYTES).nullish(),
  files: z.record(z.string(), z.string().nullable()).nullish(),
  fetch_files: z.array(z.string()).nullish(),
});

const commandResultSchema = z.object({
  status: z.enum(["Finished", "Error", "TimeLimitExceeded"]),
  execution_time: z.number().nullable(),
  return_code: z.int().nullable(),
  stdout: z.string(),
  stderr: z.string(),
});

/** SandboxFusion's answer, with our verdict-like facts as additional keys. */
export const runCodeResponseSchema = z.looseObject({
  status: z.enum(["Success", "Failed", "SandboxError"]),
  message: z.string(),
  compile_result: commandResultSchema.nullable(),
  run_result: commandResultSchema.nullable(),
  executor_pod_name: z.string().nullable(),
  files: z.record(z.string(), z.string()),
});

/** `GET /healthz`. */
export const healthSchema = z.object({
  status: z.enum(["ok", "draining"]),
  version: z.string(),
  isolation: z.string(),
  settings: z
    .record(z.string(), z.union([z.number(), z.string(), z.boolean(), z.null()]))
    .nullable()
    .describe("Config keys that decide verdicts and rewards, with their values here."),
  waiting: z.int(),
  running: z.int(),
  capacity: z.int(),
});

/** Any refusal. */
export const errorSchema = z.object({ error: z.string(), message: z.string() });

/** `POST /verify`'s body, parsed. */
export type VerifyBody = z.infer<typeof verifyRequestSchema>;
/** `POST /reward`'s body, parsed. */
export type RewardBody = z.infer<typeof rewardRequestSchema>;
/** `POST /reward`'s answer. */
export type RewardAnswer = z.infer<typeof rewardResponseSchema>;
/** `POST /run_code`'s body, parsed. */
export type RunCodeBody = z.infer<typeof runCodeRequestSchema>;
/** `POST /run_code`'s answer. */
export type RunCodeAnswer = z.infer<typeof runCodeResponseSchema>;
