/**
 * The evaluation directory: what `eval` writes and `report`, the service and the dashboard read.
 *
 *     eval.json          what was evaluated, with which settings, and the scores
 *     results.jsonl      one EvalSample a line, in order of problems and samples
 *     generations.jsonl  every completion by the hash of what produced it; see eval/generations.ts
 *
 * Scores are functions of results.jsonl; eval.json holds them so that readers need not compute.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { DataError } from "./errors.js";
import { chatMessageSchema } from "./problem.js";
import { readLines } from "./run.js";
import { VERDICT_KINDS } from "./verdict.js";

const rate = z.number().min(0).max(1);
const interval = z.strictObject({ low: z.number(), high: z.number() });

/** Every setting that moves a score. Two evaluations compare fairly when these are equal. */
export const evalSettingsSchema = z.strictObject({
  benchmark: z.string(),
  /** Name of the prompt style, e.g. `chat` or `evalscope`. */
  style: z.string(),
  /** Hash of every prompt as sent, template included where we apply it. */
  promptHash: z.string(),
  /** Hash of the problems' ids and tests. */
  problemsHash: z.string(),
  /** How the program is found in a completion: `verifier`, or a published harness's rule. */
  extract: z.string(),
  /** Samples per problem. */
  n: z.number().int().positive(),
  /** 0 is greedy; null for completions from a file, whose sampling is not known. */
  temperature: z.number().nonnegative().nullable(),
  topP: z.number(),
  topK: z.number().int().nullable(),
  maxTokens: z.number().int().positive(),
  stop: z.array(z.string()),
  /** Limits of one test; null means the verifier's own. */
  limits: z
    .strictObject({
      cpuMs: z.number(),
      wallMs: z.number(),
      memoryBytes: z.number(),
      outputBytes: z.number(),
    })
    .nullable(),
  /** First problems of the benchmark that were taken; null for all. */
  limit: z.number().int().positive().nullable(),
  /** Release and first and last day of LiveCodeBench problems; null for other benchmarks. */
  window: z.string().nullable(),
  seed: z.number().int(),
  /** Further keys of each request to an endpoint, sorted; empty where none were sent. */
  extraBody: z.record(z.string(), z.unknown()).default({}),
});

/** Scores of a group of problems. */
const groupSchema = z.strictObject({
  problems: z.number().int(),
  passAt1: rate,
  passRate: rate,
  format: rate,
});

/** What `eval.json` holds. */
export const evaluationInfoSchema = z.strictObject({
  format: z.literal(1),
  name: z.string(),
  /** `identity` changes when the model does: a digest of weights, or the endpoint's address. */
  model: z.strictObject({
    kind: z.enum(["local", "endpoint", "file"]),
    name: z.string(),
    identity: z.string(),
  }),
  settings: evalSettingsSchema,
  /** `incomplete`: some completions or verdicts are missing and no score counts them. */
  status: z.enum(["running", "complete", "incomplete"]),
  startedAt: z.string(),
  version: z.string(),
  isolation: z.string().nullable(),
  problems: z.number().int(),
  samples: z.number().int(),
  /** Samples without a completion or a verdict through no fault of the model. */
  missing: z.number().int(),
  /** pass@k by k, mean over problems; only for k ≤ n. */
  passAtK: z.record(z.string(), rate),
  /** 95 % interval of pass@1: Wilson for one sample a problem, else bootstrap by problem. */
  passAt1Interval: interval,
  /** Mean share of tests passed. */
  passRate: rate,
  /** Share of completions with a proper code block. */
  formatRate: rate,
  /** GSM8K: share right where the answer must stand behind `####`; null elsewhere. */
  strictAt1: rate.nullable(),
  /** Samples by verdict. */
  verdicts: z.partialRecord(z.enum(VERDICT_KINDS), z.number().int()),
  /** Samples cut off by the token limit. */
  truncated: z.number().int(),
  /** Samples in which no program (or no number) was found. */
  noProgram: z.number().int(),
  /** Scores by tag and value, e.g. `difficulty` → `easy`. */
  groups: z.record(z.string(), z.record(z.string(), groupSchema)),
  tokens: z.strictObject({ prompt: z.number().int(), completion: z.number().int() }),
  wallMs: z.number(),
  /** Endpoint faults that were retried or gave up, by kind, e.g. `rate_limited`. */
  faults: z.record(z.string(), z.number().int()),
  /** The last of them, in words; null without one. */
  lastFault: z.string().nullable().default(null),
});

/** One sample of one problem: one line of results.jsonl. */
export const evalSampleSchema = z.strictObject({
  problemId: z.string(),
  sample: z.number().int(),
  /** Hash of everything that produced the completion; see eval/generations.ts. */
  key: z.string(),
  /** Hash of the tests and settings that judged it. */
  judge: z.string(),
  /** Only on a problem's first sample: the prompt as messages. */
  prompt: z.array(chatMessageSchema).optional(),
  completion: z.string(),
  /** `unknown` when the source of the completion does not say. */
  finish: z.enum(["stop", "length", "unknown"]),
  promptTokens: z.number().int().nullable(),
  completionTokens: z.number().int().nullable(),
  program: z.string().nullable(),
  format: z.boolean(),
  /** One verdict kind per test that ran. */
  verdicts: z.array(z.enum(VERDICT_KINDS)),
  /** The first failing kind, or `accepted`. */
  verdict: z.enum(VERDICT_KINDS),
  passRate: rate,
  /** GSM8K: right by the strict rule; null elsewhere. */
  strict: z.boolean().nullable(),
  trust: z.enum(["strong", "weak"]),
  tags: z.record(z.string(), z.string()),
});

/** Every setting that moves a score. */
export type EvalSettings = z.infer<typeof evalSettingsSchema>;
/** Scores of a group of problems. */
export type EvalGroup = z.infer<typeof groupSchema>;
/** What `eval.json` holds. */
export type EvaluationInfo = z.infer<typeof evaluationInfoSchema>;
/** One sample of one problem. */
export type EvalSample = z.infer<typeof evalSampleSchema>;

/** A finished or partial evaluation in memory. */
export interface Evaluation {
  info: EvaluationInfo;
  samples: EvalSample[];
  /** Where it lies; null when it was not written. */
  dir: string | null;
}

/** The paths inside an evaluation directory. */
export function evaluationPaths(dir: string) {
  return {
    info: join(dir, "eval.json"),
    results: join(dir, "results.jsonl"),
    generations: join(dir, "generations.jsonl"),
  };
}

/**
 * Reads what an evaluation directory says of its evaluation.
 *
 * @throws {DataError} if there is no readable eval.json, or it breaks the schema.
 */
export async function readEvaluationInfo(dir: string): Promise<EvaluationInfo> {
  const path = evaluationPaths(dir).info;
  let raw: unknown;
  try {
    raw = JSON.parse(await readFile(path, "utf8"));
  } catch (cause) {
    throw new DataError("expected an evaluation directory with a readable eval.json", {
      path,
      cause,
    });
  }
  const info = evaluationInfoSchema.safeParse(raw);
  if (!info.success) throw schemaError(path, info.error);
  return info.data;
}

/**
 * Reads an evaluation directory.
 *
 * @throws {DataError} if it is not one, a record breaks the schema, or eval.json speaks of other
 *   samples than results.jsonl holds, as an evaluation that was cut off may leave it.
 */
export async function readEvaluation(dir: string): Promise<Evaluation> {
  const info = await readEvaluationInfo(dir);
  const { results } = evaluationPaths(dir);
  const lines = await readLines<unknown>(results);
  const samples = lines.map((line, index) => {
    const sample = evalSampleSchema.safeParse(line);
    if (!sample.success) throw schemaError(results, sample.error, index + 1);
    return sample.data;
  });
  if (samples.length !== info.samples) {
    throw new DataError(
      `expected the ${info.samples} samples that eval.json speaks of, found ${samples.length}; evaluate again`,
      { path: results },
    );
  }
  return { info, samples, dir };
}

function schemaError(path: string, error: z.ZodError, line?: number): DataError {
  const first = error.issues[0];
  const at = first.path.join(".") || "the record";
  return new DataError(`${at}: ${first.message}`, line === undefined ? { path } : { path, line });
}
