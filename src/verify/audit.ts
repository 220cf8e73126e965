/**
 * The audit of a problem file: are its tests right?
 *
 * Every reference solution is run three times on every test. What is wrong with the data then
 * shows: a test that no solution passes, one that most fail, one on which a solution changes its
 * mind, solutions that all pass elsewhere and differ on one test (several right answers), and
 * problems that cannot be judged at all. Tests that mislead are removed; doubts are reported.
 */
import { countTests, type Problem, type Tests } from "../core/problem.js";
import type { OnProgress } from "../core/progress.js";
import { blockOf } from "./extract.js";
import { faultOf } from "./faults.js";
import type { Verifier } from "./verifier.js";

/** What may be wrong; the first group is removed, the second only reported. */
export type FindingKind =
  | "bad_problem"
  | "contradicting_tests"
  | "no_solution_passes"
  | "wrong_test"
  | "flaky_test"
  | "no_tests_left"
  | "several_answers"
  | "no_solution"
  | "wrong_solution"
  | "slow_solution";

/** One finding. `test` is the index of the test, null for the problem as a whole. */
export interface Finding {
  problemId: string;
  test: number | null;
  kind: FindingKind;
  detail: string;
  isRemoved: boolean;
}

/** What an audit found, and the problems without what it removed. */
export interface Audit {
  findings: Finding[];
  cleaned: Problem[];
  /** Problems that had solutions to run. */
  audited: number;
}

const RUNS = 3;
/** The words of statements whose problems accept more than one answer. */
const MANY_ANSWERS =
  /\b(?:if there (?:are|is) (?:multiple|several|more than one)|any of them|any valid|in any order|you (?:may|can) (?:print|output) any)\b/i;

/** Runs of one solution: per test, whether each run passed, and its largest share of the limit. */
interface SolutionRuns {
  passed: boolean[][];
  cpuMs: number;
}

/**
 * Audits problems one after the other. The verifier must not reuse judgements.
 *
 * @throws {SandboxError} when the machinery failed.
 */
export async function auditProblems(
  problems: readonly Problem[],
  verifier: Verifier,
  { onProgress, signal }: { onProgress?: OnProgress; signal?: AbortSignal } = {},
): Promise<Audit> {
  const audit: Audit = { findings: [], cleaned: [], audited: 0 };
  for (const [at, problem] of problems.entries()) {
    signal?.throwIfAborted();
    const findings = await auditProblem(problem, verifier);
    audit.findings.push(...findings);
    if ((problem.solutions ?? []).length > 0) audit.audited++;
    const rest = withoutRemoved(problem, findings);
    if (rest !== null) audit.cleaned.push(rest);
    onProgress?.({ label: "audit", done: at + 1, total: problems.length, unit: "problems" });
  }
  return audit;
}

async function auditProblem(problem: Problem, verifier: Verifier): Promise<Finding[]> {
  const find = finder(problem);
  const fault = faultOf(problem);
  if (fault !== null) return [find("bad_problem", null, fault, true)];
  const findings = contradictions(problem);
  const solutions = problem.solutions ?? [];
  if (solutions.length === 0) {
    return [...findings, find("no_solution", null, "no reference solution to run", false)];
  }
  const runs = await Promise.all(
    solutions.map((solution) => runSolution(problem, solution, verifier)),
  );
  findings.push(...solutionFindings(problem, runs));
  for (let test = 0; test < countTests(problem.tests); test++) {
    if (!findings.some((finding) => finding.test === test && finding.isRemoved)) {
      findings.push(...testFindings(problem, test, runs));
    }
  }
  const removed = new Set(findings.filter(({ isRemoved }) => isRemoved).map(({ test }) => test));
  if (removed.size === countTests(problem.tests)) {
    findings.push(find("no_tests_left", null, "every test was removed", true));
  }
  return findings;
}

function finder({ id }: Problem) {
  return (kind: FindingKind, test: number | null, detail: string, isRemoved: boolean): Finding => ({
    problemId: id,
    test,
    kind,
    detail,
    isRemoved,
  });
}

/** Equal inputs with different expectations: one of them must be wrong, so neither is kept. */
function contradictions(problem: Problem): Finding[] {
  const find = finder(problem);
  const pairs = inputsAndOutputs(problem.tests);
  return pairs.flatMap(([input, output], test) => {
    const other = pairs.findIndex(([same, different]) => same === input && different !== output);
    if (other === -1) return [];
    return [find("contradicting_tests", test, `test ${other} expects something else`, true)];
  });
}

function inputsAndOutputs(tests: Tests): [string, string][] {
  if (tests.kind === "stdio") return tests.cases.map(({ input, output }) => [input, output.trim()]);
  return tests.kind === "call" ? tests.cases.map(({ args, expected }) => [args, expected]) : [];
}

async function runSolution(
  problem: Problem,
  solution: string,
  verifier: Verifier,
): Promise<SolutionRuns> {
  const count = countTests(problem.tests);
  const passed: boolean[][] = Array.from({ length: count }, () => []);
  const isAnswer = problem.tests.kind === "answer";
  const completion = isAnswer ? solution : blockOf(solution, problem.language);
  let cpuMs = 0;
  for (let run = 0; run < RUNS; run++) {
    const { tests } = await verifier.verify({ completion, problem, maxTests: null });
    for (let test = 0; test < count; test++) {
      const found = tests.find(({ index }) => index === test);
      passed[test].push(found?.verdict.kind === "accepted");
      cpuMs = Math.max(cpuMs, found?.cpuMs ?? 0);
    }
  }
  return { passed, cpuMs };
}

function solutionFindings(problem: Problem, runs: readonly SolutionRuns[]): Finding[] {
  const find = finder(problem);
  return runs.flatMap(({ passed, cpuMs }, solution) => {
    const findings: Finding[] = [];
    if (!passed.some((test) => test.some(Boolean))) {
      findings.push(find("wrong_solution", null, `solution ${solution} passes no test`, false));
    }
    const limitMs = problem.limits?.timeMs;
    if (limitMs !== undefined && cpuMs > limitMs / 2) {
      const share = `${Math.round(cpuMs)} of ${limitMs} ms`;
      findings.push(find("slow_solution", null, `solution ${solution} takes ${share}`, false));
    }
    return findings;
  });
}

function testFindings(problem: Problem, test: number, runs: readonly SolutionRuns[]): Finding[] {
  const find = finder(problem);
  const results = runs.map(({ passed }) => passed[test]);
  const flaky = results.findIndex((result) => result.some(Boolean) && !result.every(Boolean));
  if (flaky !== -1) {
    const count = results[flaky].filter(Boolean).length;
    const detail = `solution ${flaky} passes ${count} of ${RUNS} runs`;
    return [find("flaky_test", test, detail, true)];
  }
  const passing = results.filter((result) => result.every(Boolean)).length;
  if (passing === 0) {
    const detail = `none of ${runs.length} solutions passes`;
    return [find("no_solution_passes", test, detail, true)];
  }
  if (passing === runs.length) return [];
  const detail = `${passing} of ${runs.length} solutions pass`;
  if (passing * 2 < runs.length) return [find("wrong_test", test, detail, true)];
  const dissent = runs.filter(({ passed }) => !passed[test].every(Boolean));
  const elsewhere = dissent.some(({ passed }) =>
    passed.every((result, other) => other === test || result.every(Boolean)),
  );
  const hint = problem.prompt.some(({ content }) => MANY_ANSWERS.test(content));
  return elsewhere || hint
    ? [find("several_answers", test, `${detail}; a checker may be needed`, false)]
    : [];
}

/** The problem without its removed tests; null when nothing is left of it. */
function withoutRemoved(problem: Problem, findings: readonly Finding[]): Problem | null {
  const removed = findings.filter(({ isRemoved }) => isRemoved);
  if (removed.some(({ test }) => test === null)) return null;
  const indices = new Set(removed.map(({ test }) => test));
  const keep = <T>(cases: readonly T[]) => cases.filter((_, index) => !indices.has(index));
  const { tests } = problem;
  switch (tests.kind) {
    case "stdio":
      return { ...problem, tests: { ...tests, cases: keep(tests.cases) } };
    case "call":
      return { ...problem, tests: { ...tests, cases: keep(tests.cases) } };
    case "assert":
      return { ...problem, tests: { ...tests, cases: keep(tests.cases) } };
    case "answer":
      return problem;
  }
}
