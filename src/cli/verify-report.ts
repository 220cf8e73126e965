/** The results of `rlvr verify` for people: a table, the first failing test as a diff, reasons. */
import { describeVerdict, type Verdict } from "../core/verdict.js";
import type { BatchSummary, Judged } from "../verify/batch.js";
import type { Extraction, VerifyResult } from "../verify/verifier.js";

/** How each way of finding a program is told. */
const REASONS: Record<Extraction["reason"], string> = {
  block: "a closed block of the language",
  untagged_block: "a closed block without a language",
  unclosed: "a block that was never closed",
  closing_fence_only: "the text before a closing fence (the prompt opened it)",
  heuristic: "no block; the longest run of lines that look like a program",
  wrong_language: "no program: the blocks are in other languages",
  unclosed_think: "no program: the thinking part was never closed",
  empty: "no program: the completion or its block is empty",
  no_block: "no program: no block, and nothing looks like a program",
};

/** Most lines of each side that a diff shows. */
const DIFF_LINES = 12;

/** Writes a whole batch. */
export function describeBatch(
  judged: readonly Judged[],
  summary: BatchSummary & { isolation: string },
  explains: boolean,
): string {
  const width = Math.max(7, ...judged.map(({ answer }) => answer.problem.id.length));
  const header = `${"problem".padEnd(width)}  verdict        tests      reward  format`;
  const rows = judged.flatMap(({ answer, result, error }) => {
    const id = answer.problem.id.padEnd(width);
    if (result === null) return [`${id}  sandbox error  ${error}`];
    return [rowOf(id, result), ...(explains ? explain(result) : [])];
  });
  const failure = judged.find(({ result }) => result !== null && result.verdict !== "accepted");
  return [
    header,
    ...rows,
    ...(failure?.result && !explains ? ["", ...firstFailure(failure.result)] : []),
    "",
    totals(summary),
    "",
  ].join("\n");
}

function rowOf(id: string, result: VerifyResult): string {
  const passed = result.tests.filter(({ verdict }) => verdict.kind === "accepted").length;
  const tests = `${passed}/${result.totalTests}`.padEnd(9);
  const reward = (result.reward === null ? "-" : result.reward.toFixed(2)).padEnd(6);
  const weak = result.trust === "weak" ? "  (weak trust)" : "";
  const format = result.extraction.format ? "yes" : "no";
  return `${id}  ${result.verdict.padEnd(13)}  ${tests}  ${reward}  ${format}${weak}`;
}

function explain(result: VerifyResult): string[] {
  const { extraction, tests, fault } = result;
  const lines = [`    found: ${REASONS[extraction.reason]}`];
  if (fault !== null) lines.push(`    problem: ${fault}`);
  if (result.isReused) lines.push("    judged before: an identical program has these verdicts");
  for (const { index, verdict, cpuMs } of tests) {
    lines.push(`    test ${index}: ${verdict.kind} (${Math.round(cpuMs)} ms)`);
    if (verdict.kind !== "accepted")
      lines.push(...detail(verdict).map((line) => `        ${line}`));
  }
  return lines;
}

function firstFailure(result: VerifyResult): string[] {
  const test = result.tests.find(({ verdict }) => verdict.kind !== "accepted");
  if (test === undefined) {
    return [`${result.problemId}: ${result.fault ?? REASONS[result.extraction.reason]}`];
  }
  return [`${result.problemId}, test ${test.index}: ${test.verdict.kind}`, ...detail(test.verdict)];
}

function detail(verdict: Verdict): string[] {
  switch (verdict.kind) {
    case "wrong_answer":
      return [...(verdict.reason === undefined ? [] : [verdict.reason]), ...diff(verdict)];
    case "runtime_error":
      return [describeVerdict(verdict), ...tail(verdict.stderr)];
    case "compile_error":
      return tail(verdict.stderr);
    case "accepted":
    case "time_limit":
    case "memory_limit":
    case "output_limit":
    case "no_program":
    case "bad_problem":
      return [describeVerdict(verdict)];
  }
}

/** Lines that only one side has, from the first difference on. */
function diff({ expected, actual }: { expected: string; actual: string }): string[] {
  const [want, have] = [expected, actual].map((text) => text.replace(/\n$/, "").split("\n"));
  let at = 0;
  while (at < want.length && at < have.length && want[at] === have[at]) at++;
  const side = (mark: string, lines: string[]) => [
    ...lines.slice(at, at + DIFF_LINES).map((line) => `${mark} ${visible(line)}`),
    ...(lines.length > at + DIFF_LINES ? [`${mark} … ${lines.length - at - DIFF_LINES} more`] : []),
  ];
  const same = at === 0 ? [] : [`  … ${at} equal line${at === 1 ? "" : "s"}`];
  return [...same, ...side("-", want), ...side("+", have)];
}

function tail(text: string): string[] {
  return text.trimEnd().split("\n").slice(-8).map(visible);
}

/** Control characters would move the cursor or colour the terminal; they are shown as codes. */
function visible(line: string): string {
  return line.replace(/[\u0000-\u001f\u007f-\u009f]/g, (c) =>
    c === "\t" ? c : `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}

function totals(summary: BatchSummary & { isolation: string }): string {
  const counts = Object.entries(summary.verdicts).map(([kind, count]) => `${kind} ${count}`);
  const errors = summary.infraErrors === 0 ? [] : [`sandbox errors ${summary.infraErrors}`];
  const show = (value: number | null) => (value === null ? "-" : value.toFixed(3));
  return (
    `${summary.completions} completions: ${[...counts, ...errors].join(", ")}\n` +
    `reward ${show(summary.reward)}, pass rate ${show(summary.passRate)}, ` +
    `format ${show(summary.format)}; isolation ${summary.isolation}`
  );
}
