/** Cases of judging: programs with tests, through the verifier. */
import { readdirSync, readFileSync } from "node:fs";
import type { Problem, Tests } from "../../../src/core/problem.js";
import { parseGroundTruth } from "../../../src/formats/ground-truth.js";
import { openPlainSandbox } from "../../../src/verify/plain-sandbox.js";
import { createVerifier, type Verifier, type VerifyResult } from "../../../src/verify/verify.js";
import { type Case, SkipCase } from "../case.js";

const LIMITS = {
  cpuMs: 2000,
  wallMs: 4000,
  memoryBytes: 512 * 2 ** 20,
  outputBytes: 16 * 2 ** 20,
};
const SETTINGS = { workers: 2, limits: LIMITS, reuse: false };

let verifier: Promise<Verifier> | null = null;

/** Ends the verifier. */
export async function close(): Promise<void> {
  await (await verifier)?.close();
  verifier = null;
}

/** The plain sandbox: the only one in which a program can start processes at all. */
async function openPlain(): Promise<Verifier> {
  return createVerifier({ ...SETTINGS, sandbox: await openPlainSandbox({ workers: 1 }) });
}

/** Our verdicts in the words of the cases. */
const KINDS: Record<string, string[]> = {
  accepted: ["pass"],
  wrong_answer: ["wrong_answer", "assertion"],
  runtime_error: ["runtime_error", "no_result"],
  time_limit: ["timeout"],
  memory_limit: ["memory_limit"],
  output_limit: ["output_limit"],
  compile_error: ["compile_error"],
  no_program: ["no_code"],
  bad_problem: ["no_tests"],
};

interface Expected {
  verdict: "pass" | "fail" | "error";
  pass_rate: number;
  per_test?: string[];
  per_test_kind?: string[];
  failure_kind?: string;
  failure_kind_any?: string[];
  max_wall_s?: number;
  no_leftover_processes?: boolean;
}

/** Python processes of this machine that run code given on the command line and sleep. */
function sleepers(): number {
  return readdirSync("/proc").filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("time.sleep(20)");
    } catch {
      return false;
    }
  }).length;
}

/** Runs one case. */
export async function run(testCase: Case): Promise<string | null> {
  const expected = testCase.expected as Expected;
  const startedAt = Date.now();
  // The locked sandbox refuses new processes, so what they leave behind is tried in the plain one.
  const plain = expected.no_leftover_processes ? await openPlain() : null;
  const before = sleepers();
  const result = await judgeCase(testCase.input, plain);
  const left = plain === null ? 0 : sleepers() - before;
  await plain?.close();
  const seconds = (Date.now() - startedAt) / 1000;
  const problems = [
    ...verdictProblems(result, expected),
    ...(left > 0 ? [`${left} processes are left`] : []),
    ...(expected.max_wall_s !== undefined && seconds > expected.max_wall_s * result.totalTests + 2
      ? [`took ${seconds} s`]
      : []),
  ];
  return problems.length === 0 ? null : `${problems.join("; ")}: ${JSON.stringify(result.tests)}`;
}

function verdictProblems(result: VerifyResult, expected: Expected): string[] {
  const problems: string[] = [];
  const isPass = result.verdict === "accepted";
  const verdict = result.verdict === "bad_problem" ? "error" : isPass ? "pass" : "fail";
  if (verdict !== expected.verdict) problems.push(`expected ${expected.verdict}, got ${verdict}`);
  if (Math.abs(result.passRate - expected.pass_rate) > 1e-9) {
    problems.push(`expected pass rate ${expected.pass_rate}, got ${result.passRate}`);
  }
  const kinds = result.tests.map((test) => KINDS[test.verdict.kind]);
  const perTest = kinds.map(([kind]) => (kind === "pass" ? "pass" : "fail"));
  const isWhole = result.verdict === "compile_error" || result.verdict === "bad_problem";
  if (!isWhole && expected.per_test && perTest.join() !== expected.per_test.join()) {
    problems.push(`expected ${expected.per_test.join()}, got ${perTest.join()}`);
  }
  for (const [i, kind] of (expected.per_test_kind ?? []).entries()) {
    if (!kinds[i]?.includes(kind)) problems.push(`test ${i}: expected ${kind}, got ${kinds[i]}`);
  }
  const wanted =
    expected.failure_kind_any ?? (expected.failure_kind ? [expected.failure_kind] : []);
  if (wanted.length > 0 && !KINDS[result.verdict].some((kind) => wanted.includes(kind))) {
    problems.push(`expected ${wanted.join(" or ")}, got ${result.verdict}`);
  }
  return problems;
}

/** Judges the program of a case's input. */
export async function judgeCase(
  input: Record<string, unknown>,
  other: Verifier | null = null,
): Promise<VerifyResult> {
  if (input.requires !== undefined) throw new SkipCase(`needs ${String(input.requires)}`);
  const tests = testsOf(input);
  const problem: Problem = {
    id: "case",
    source: "case",
    prompt: [{ role: "user", content: "" }],
    tests: "bad" in tests ? { kind: "stdio", cases: [] } : tests,
    language: "python",
    limits: {
      timeMs: 1000 * Number(input.timeout_s ?? 5),
      ...(input.memory_mb === undefined ? {} : { memoryBytes: Number(input.memory_mb) * 2 ** 20 }),
    },
  };
  verifier ??= createVerifier(SETTINGS);
  const completion = `\`\`\`\`\`\`python\n${String(input.code)}\n\`\`\`\`\`\`\n`;
  return (other ?? (await verifier)).verify({ completion, problem });
}

function testsOf(input: Record<string, unknown>): Tests | { bad: string } {
  const { mode, fn_name, entry_point, test } = input as Record<string, string>;
  if (mode === "assert") {
    return {
      kind: "assert",
      entryPoint: entry_point ?? null,
      setup: "",
      cases: [test],
      programPrefix: "",
    };
  }
  const { inputs, outputs } = input;
  const isCall = mode === "call";
  return parseGroundTruth(JSON.stringify({ inputs, outputs, ...(isCall ? { fn_name } : {}) }));
}
