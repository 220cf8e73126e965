/**
 * `POST /run_code`: SandboxFusion's interface, so that its clients, veRL's among them, work
 * unchanged against our sandbox.
 *
 * Overload is answered 504, the only status that veRL's client tries again. Programs have no disk,
 * so `files` and `fetch_files` with content are refused, saying so.
 *
 * Source: bytedance/SandboxFusion sandbox/server/sandbox_api.py at 469de08, and veRL's
 * utils/reward_score/sandbox_fusion/utils.py.
 */
import type { Context } from "hono";
import { ConfigError, SandboxError } from "../core/errors.js";
import type { ProgramOutcome, SandboxLimits } from "../verify/sandbox.js";
import type { ServiceContext } from "./context.js";
import { QueueRefusal } from "./fair-queue.js";
import { sendQueueRefusal } from "./answers.js";
import { clientOf, parseBody } from "./requests.js";
import { type RunCodeAnswer, type RunCodeBody, runCodeRequestSchema } from "./schemas.js";

const DEFAULT_TIMEOUT_S = 10;
const DEFAULT_MEMORY_BYTES = 1024 * 2 ** 20;
const OUTPUT_BYTES = 64 * 2 ** 20;
/** veRL's client hangs up after compile + run + 10 s; we refuse a little earlier. */
const PATIENCE_S = 8;

const LANGUAGES: Record<string, string> = {
  py: "python",
  python3: "python",
  js: "javascript",
  nodejs: "javascript",
  node: "javascript",
  "c++": "cpp",
  sh: "bash",
  golang: "go",
  rs: "rust",
};

/** SandboxFusion's words; one that this machine cannot run is its SandboxError, any other word 422. */
const KNOWN_WORDS = new Set(
  (
    "python cpp nodejs go go_test java php csharp bash typescript sql rust cuda lua r perl d_ut ruby " +
    "scala julia pytest junit kotlin_script jest verilog python_gpu lean swift racket"
  ).split(" "),
);

/** Answers a run_code request: HTTP 200 whatever the program did. */
export async function runCodeRoute(c: Context, context: ServiceContext): Promise<Response> {
  const body = await parseBody(c, runCodeRequestSchema);
  const refusal = refuseFiles(body);
  if (refusal !== null) return c.json(sandboxError(refusal));
  const signal = c.req.raw.signal;
  const word = (body.language ?? "python").toLowerCase();
  const job = {
    language: LANGUAGES[word] ?? word,
    source: body.code,
    stdins: [Buffer.from(body.stdin ?? "", "utf8")],
    limits: limitsOf(body),
    signal,
  };
  try {
    const [outcome] = await context.queue.add({
      client: clientOf(c),
      deadlineMs: PATIENCE_S * 1000,
      signal,
      run: () => context.metrics.counting(() => context.sandbox.run(job), signal),
    });
    return c.json(answerOf(outcome));
  } catch (error) {
    if (error instanceof QueueRefusal) {
      return sendQueueRefusal(c, error.reason === "full" ? "deadline" : error.reason);
    }
    if (error instanceof ConfigError && (KNOWN_WORDS.has(word) || Object.hasOwn(LANGUAGES, word))) {
      return c.json(sandboxError(error.message));
    }
    if (!(error instanceof SandboxError)) throw error;
    return c.json(sandboxError(error.message));
  }
}

function limitsOf(body: RunCodeBody): SandboxLimits {
  const runMs = 1000 * (body.run_timeout ?? DEFAULT_TIMEOUT_S);
  const megabytes = body.memory_limit_MB ?? -1;
  return {
    cpuMs: runMs,
    wallMs: runMs,
    memoryBytes: megabytes > 0 ? Math.ceil(megabytes * 2 ** 20) : DEFAULT_MEMORY_BYTES,
    outputBytes: OUTPUT_BYTES,
  };
}

function refuseFiles({ files, fetch_files: fetched }: RunCodeBody): string | null {
  const named = Object.entries(files ?? {}).filter(([, content]) => content !== null);
  if (named.length > 0) {
    return `files: programs have no disk here, got ${named.map(([name]) => name).join(", ")}`;
  }
  if ((fetched ?? []).length > 0) return "fetch_files: programs have no disk here";
  return null;
}

const sandboxError = (message: string): RunCodeAnswer => ({
  status: "SandboxError",
  message,
  compile_result: null,
  run_result: null,
  executor_pod_name: null,
  files: {},
});

function answerOf(outcome: ProgramOutcome): RunCodeAnswer {
  const { end, stderr } = outcome;
  const base = { ...sandboxError(""), peak_memory_bytes: outcome.peakBytes, cpu_ms: outcome.cpuMs };
  const seconds = outcome.wallMs / 1000;
  const stdout = Buffer.from(outcome.stdout).toString("utf8");
  const finished = (returnCode: number, note = "") => ({
    status: "Finished" as const,
    execution_time: seconds,
    return_code: returnCode,
    stdout,
    stderr: stderr + note,
  });
  switch (end.kind) {
    case "exited":
      return {
        ...base,
        status: end.exitCode === 0 ? "Success" : "Failed",
        run_result: finished(end.exitCode),
      };
    case "signaled":
      return { ...base, status: "Failed", run_result: finished(-1, `\nended by ${end.signal}`) };
    case "memory_limit":
      return { ...base, status: "Failed", run_result: finished(-9, "\nmemory limit passed") };
    case "output_limit":
      return { ...base, status: "Failed", run_result: finished(-9, "\noutput limit passed") };
    case "time_limit":
      return {
        ...base,
        status: "Failed",
        run_result: {
          ...finished(0),
          status: "TimeLimitExceeded",
          execution_time: null,
          return_code: null,
        },
      };
    case "compile_error":
      return { ...base, status: "Failed", compile_result: { ...finished(1), stdout: "" } };
  }
}
