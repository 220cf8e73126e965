/**
 * Agreement with known verdicts: programs whose verdicts others have established, through the
 * verifier, one line per disagreement and one figure per set. `npm run bench -- agreement [SET…]`;
 * `--plain` uses the plain sandbox. docs/DECISIONS.md says of each disagreement who is right.
 *
 * The data stands beside the checkout (`../shared/data`) and is never copied.
 */
import { existsSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { Problem, Tests } from "../src/core/problem.js";
import { SandboxError } from "../src/core/errors.js";
import { parseGroundTruth } from "../src/formats/ground-truth.js";
import { openPlainSandbox } from "../src/verify/plain-sandbox.js";
import { createVerifier, type Verifier, type VerifyResult } from "../src/verify/verify.js";

const DATA = new URL("../../shared/data/", import.meta.url);

type Row = Record<string, unknown>;

/** One program with what is known of it. */
interface Known {
  id: string;
  program: string;
  problem: Problem;
  /** Known verdict per test: `ok`, or anything else for a failure; null when only `passes` is. */
  verdicts: string[] | null;
  passes: boolean;
}

/** Our verdicts in the words of the data. */
const WORDS: Record<string, string> = {
  accepted: "ok",
  wrong_answer: "wa",
  runtime_error: "re",
  time_limit: "tle",
  memory_limit: "re",
  output_limit: "wa",
  compile_error: "re",
};

const SETS: Record<string, () => Known[]> = {
  // Its endless loops were told apart with two seconds; a longer limit lets some of them finish.
  psb1: () => stdioSet("psb1_stdio.jsonl", "solutions/psb1_solutions.jsonl", 2000),
  mbpp_stdio: () => stdioSet("mbpp_stdio.jsonl", "solutions/mbpp_stdio_solutions.jsonl"),
  apps: appsPrograms,
  mbpp_asserts: mbppReferences,
  humaneval_references: humanEvalReferences,
  humaneval_samples: humanEvalSamples,
  eurus_calls: eurusCalls,
};

/** Runs the sets named, else all. */
export async function run(args: string[]): Promise<Record<string, number>> {
  if (!existsSync(DATA))
    throw new Error(`agreement: the data set folder ${DATA.pathname} is absent`);
  const named = args.filter((arg) => !arg.startsWith("-"));
  const isPlain = args.includes("--plain");
  const verifier = await createVerifier({
    workers: 2,
    limits: { cpuMs: 6000, wallMs: 30_000, memoryBytes: 512 * 2 ** 20, outputBytes: 16 * 2 ** 20 },
    ...(isPlain ? { sandbox: await openPlainSandbox({ workers: 2 }) } : {}),
  });
  console.log(`sandbox: isolation ${verifier.level}`);
  const figures: Record<string, number> = {};
  try {
    for (const [name, load] of Object.entries(SETS)) {
      if (named.length === 0 || named.includes(name)) await runSet(name, load(), verifier, figures);
    }
    if (named.length === 0 || named.includes("quixbugs")) quixBugs(figures);
  } finally {
    await verifier.close();
  }
  return figures;
}

async function runSet(
  name: string,
  programs: Known[],
  verifier: Verifier,
  figures: Record<string, number>,
): Promise<void> {
  const startedAt = Date.now();
  const counts = { programs: 0, agree: 0, pass: 0, wrongPass: 0, wrongFail: 0, tests: 0, same: 0 };
  const counting = { broken: 0 };
  let next = 0;
  const worker = async () => {
    for (let known = programs[next++]; known !== undefined; known = programs[next++]) {
      try {
        const { program, problem } = known;
        const completion = `\`\`\`\`\`\`python\n${program}\n\`\`\`\`\`\`\n`;
        count(known, await verifier.verify({ completion, problem, maxTests: null }), counts);
      } catch (error) {
        if (!(error instanceof SandboxError)) throw error;
        counting.broken++;
        console.log(`  ${known.id}: sandbox error: ${error.message}`);
      }
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  console.log(
    `${name}: ${counts.agree} of ${counts.programs} programs agree; ${counts.pass} pass; ` +
      `${counts.same} of ${counts.tests} tests have the same kind; ` +
      `${counts.wrongPass} pass that are known to fail, ${counts.wrongFail} fail that are known to ` +
      `pass; ${counting.broken} sandbox errors; ${seconds} s`,
  );
  figures[`${name}_programs`] = counts.programs;
  figures[`${name}_agree`] = counts.agree;
  figures[`${name}_pass`] = counts.pass;
  if (counts.tests > 0) figures[`${name}_tests_same`] = counts.same / counts.tests;
}

function count(known: Known, result: VerifyResult, counts: Record<string, number>): void {
  const passes = result.verdict === "accepted";
  counts.programs++;
  if (passes) counts.pass++;
  const ours = known.verdicts?.map((_, i) => {
    const whole = result.tests.length === 1 && result.tests[0].index === 0 ? result.tests[0] : null;
    const test = result.tests.find(({ index }) => index === i) ?? whole;
    return test === null || test === undefined ? result.verdict : WORDS[test.verdict.kind];
  });
  const differing = (known.verdicts ?? []).flatMap((word, i) =>
    (word === "ok") === (ours![i] === "ok") ? [] : [`test ${i}: known ${word}, ours ${ours![i]}`],
  );
  counts.tests += known.verdicts?.length ?? 0;
  counts.same += (known.verdicts ?? []).filter((word, i) => word === ours![i]).length;
  if (passes === known.passes && differing.length === 0) {
    counts.agree++;
    return;
  }
  if (passes && !known.passes) counts.wrongPass++;
  if (!passes && known.passes) counts.wrongFail++;
  const failure = result.tests.find(({ verdict }) => verdict.kind !== "accepted");
  const detail = JSON.stringify(failure?.verdict ?? result.fault ?? "").slice(0, 300);
  console.log(`  ${known.id}: known ${known.passes ? "right" : "wrong"}, ours ${result.verdict}`);
  console.log(`    ${differing.slice(0, 3).join("; ")} ${detail}`);
}

function lines(name: string): Row[] {
  const bytes = readFileSync(new URL(name, DATA));
  const text = (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Row);
}

function problemOf(id: string, tests: Tests | { bad: string }, row: Row): Problem {
  const float = /^float:(.+)$/.exec(String(row.checker ?? ""));
  return {
    id,
    source: id.split("/")[0],
    prompt: [{ role: "user", content: "" }],
    language: "python",
    tests: "bad" in tests ? { kind: "stdio", cases: [] } : tests,
    ...(float === null ? {} : { compare: { tolerance: Number(float[1]) } }),
  };
}

function stdioProblem(row: Row): Problem {
  const cases = (row.tests as { input: string; output: string }[]).map(({ input, output }) => ({
    input,
    output,
  }));
  return problemOf(String(row.id), { kind: "stdio", cases }, row);
}

function stdioSet(problemFile: string, solutionFile: string, timeMs?: number): Known[] {
  const limits = timeMs === undefined ? {} : { limits: { timeMs } };
  const problems = new Map(
    lines(problemFile).map((row) => [row.id, { ...stdioProblem(row), ...limits }]),
  );
  return lines(solutionFile).map((row, i) => ({
    id: `${String(row.id)} #${i}`,
    program: String(row.code),
    problem: problems.get(row.id)!,
    verdicts: (row.verdicts as string[] | undefined) ?? null,
    passes: row.label === "correct",
  }));
}

function appsPrograms(): Known[] {
  const problems = new Map(
    lines("apps_subset.jsonl").map((row) => {
      const isCall = row.kind === "call";
      const problem = isCall
        ? problemOf(String(row.id), parseGroundTruth(String(row.ground_truth)), row)
        : stdioProblem(row);
      return [row.id, { ...problem, limits: { timeMs: 3000 } }];
    }),
  );
  return lines("solutions/apps_subset_llm_solutions.jsonl").map((row, i) => ({
    id: `${String(row.id)} #${i}`,
    program: String(row.code_function_only ?? row.code),
    problem: problems.get(row.id)!,
    verdicts: row.verdicts as string[],
    passes: row.label === "correct",
  }));
}

function mbppReferences(): Known[] {
  return lines("mbpp.jsonl").map((row) => {
    const code = String(row.code).replaceAll("\r\n", "\n");
    const cases = row.test_list as string[];
    const names = [...code.matchAll(/^(?:def|class) +(\w+)/gm)].map(([, name]) => name);
    const entryPoint = names.find((name) => new RegExp(`\\b${name}\\b`).test(cases[0])) ?? null;
    const setup = String(row.test_setup_code ?? "").replaceAll("\r\n", "\n");
    const tests: Tests = { kind: "assert", entryPoint, setup, cases, programPrefix: "" };
    const id = `mbpp/${String(row.task_id)}`;
    return { id, program: code, problem: problemOf(id, tests, row), verdicts: null, passes: true };
  });
}

function humanEvalProblems(): Map<string, { row: Row; problem: Problem }> {
  return new Map(
    lines("HumanEval.jsonl.gz").map((row) => {
      const id = String(row.task_id);
      const entryPoint = String(row.entry_point);
      const tests: Tests = {
        kind: "assert",
        entryPoint,
        setup: "",
        cases: [`${String(row.test)}\ncheck(${entryPoint})`],
        programPrefix: String(row.prompt),
      };
      return [id, { row, problem: problemOf(id, tests, row) }];
    }),
  );
}

function humanEvalReferences(): Known[] {
  return [...humanEvalProblems()].map(([id, { row, problem }]) => {
    const program = String(row.prompt) + String(row.canonical_solution);
    return { id, program, problem, verdicts: null, passes: true };
  });
}

/** Programs are joined verbatim, as the data's own verdicts were made. */
function humanEvalSamples(): Known[] {
  const problems = humanEvalProblems();
  return lines("humaneval_codegen16b_samples.jsonl.gz").map((row, i) => {
    const { row: task, problem } = problems.get(String(row.task_id))!;
    const program = String(task.prompt) + String(row.completion);
    const passes = Boolean(row.passed);
    return { id: `${String(row.task_id)} #${i}`, program, problem, verdicts: null, passes };
  });
}

/** Right programs earn 1.0 on rows with `fn_name`; one that answers nothing earns less. */
function eurusCalls(): Known[] {
  const references = new Map(
    lines("mbpp.jsonl").map((row) => [`mbpp/${String(row.task_id)}`, row]),
  );
  return lines("mbpp_calls.jsonl").flatMap((row) => {
    const id = String(row.id);
    const problem = problemOf(id, parseGroundTruth(String(row.ground_truth)), row);
    const program = String(references.get(id)!.code).replaceAll("\r\n", "\n");
    const wrong = `def ${String(row.fn_name)}(*args):\n    return "nothing"\n`;
    return [
      { id: `${id} right`, program, problem, verdicts: null, passes: true },
      { id: `${id} wrong`, program: wrong, problem, verdicts: null, passes: false },
    ];
  });
}

function quixBugs(figures: Record<string, number>): void {
  const rows = lines("quixbugs_calls.jsonl");
  const loaded = rows.filter((row) => !("bad" in parseGroundTruth(String(row.ground_truth))));
  console.log(`quixbugs: ${loaded.length} of ${rows.length} call problems load`);
  figures.quixbugs_loaded = loaded.length;
}
