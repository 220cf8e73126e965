/** `rlvr verify`: completions or one program against problems; `--audit` checks the problems. */
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { type Command, Option } from "commander";
import { ConfigError } from "../core/errors.js";
import { whyUnreadable } from "../core/read.js";
import { loadAnswers, readProblems, summarise, verifyAll } from "../verify/batch.js";
import { blockOf } from "../verify/extract.js";
import { createVerifier, defaultVerifierOptions, type RewardOptions } from "../verify/verify.js";
import { refuseIdle } from "./flags.js";
import { addExamples } from "./help.js";
import { positive } from "./option-values.js";
import { openProgress } from "./progress.js";
import { runAudit } from "./verify-audit.js";
import { describeBatch } from "./verify-report.js";
import { readRollout } from "./verify-rollout.js";

/** The flags as commander hands them over. */
interface Flags {
  problems?: string;
  problem?: string;
  completions?: string;
  rollout?: string;
  audit?: string;
  out?: string;
  maxTests?: number;
  workers?: number;
  earlyStop?: true;
  reward: RewardOptions["kind"];
  explain?: true;
  json?: true;
}

/** Defines the command. */
export function define(command: Command): void {
  command
    .argument("[program]", "file with one program (.py …) or one completion (.md, .txt)")
    .option("--problems <file>", "problem file (JSONL)")
    .option("--problem <id>", "the problem that the program answers; the only one when absent")
    .option("--completions <file>", "JSONL with problem_id and completion")
    .option("--rollout <run:step/group/sample>", "an answer that a run has stored")
    .option("--audit <file>", "run the reference solutions of a problem file against its tests")
    .option("--out <folder>", "with --audit: where the cleaned file and the list of removals go")
    .option("--max-tests <n>", "most tests per problem, drawn by the problem's id", positive)
    .option("--workers <n>", "programs at a time", positive)
    .option("--early-stop", "stop at the first failed test")
    .addOption(
      new Option("--reward <kind>", "how verdicts become a number")
        .choices(["pass_rate", "all_or_nothing", "tiered"])
        .default("pass_rate"),
    )
    .option("--explain", "tell how each program was found and why each test failed")
    .option("--json", "print the results as one JSON object")
    .action(run);
  addExamples(command, [
    ["rlvr verify --problems p.jsonl --completions c.jsonl", "a file of completions"],
    ["rlvr verify a.py --problems p.jsonl --problem ID --explain", "one program, in detail"],
    ["rlvr verify --rollout runs/NAME:10/0/3 --explain", "an answer that a run has stored"],
    ["rlvr verify --audit p.jsonl --out cleaned/", "the tests themselves"],
  ]);
}

async function run(program: string | undefined, flags: Flags, command: Command): Promise<void> {
  const given = {
    "a program file": program,
    "--completions": flags.completions,
    "--rollout": flags.rollout,
    "--audit": flags.audit,
  };
  const inputs = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  );
  if (inputs.length > 1) {
    throw new ConfigError(`verify: expected one thing to judge, found ${inputs.join(" and ")}`);
  }
  const judging = flags.audit === undefined ? null : "answers, not with --audit";
  const ofFile = flags.rollout === undefined ? judging : "answers to a problem file";
  refuseIdle(command, {
    out: flags.audit === undefined ? "--audit" : null,
    problems: ofFile,
    problem: program === undefined ? "a program file" : null,
    ...{ maxTests: judging, earlyStop: judging, reward: judging, explain: judging },
  });
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort());
  if (flags.audit !== undefined) return runAudit(flags.audit, flags, interrupt.signal);
  const answers = await readAnswers(program, flags);
  const progress = openProgress();
  const verifier = await createVerifier({
    ...(flags.workers === undefined ? {} : { workers: flags.workers }),
    maxTests: flags.maxTests ?? null,
    earlyStop: flags.earlyStop ?? false,
    reward: { ...defaultVerifierOptions().reward, kind: flags.reward },
    onWarning: (warning) => process.stderr.write(`verify: ${warning}\n`),
  });
  try {
    const { onProgress } = progress;
    const judged = await verifyAll(answers, verifier, { onProgress, signal: interrupt.signal });
    progress.clear();
    const summary = { ...summarise(judged), isolation: verifier.level };
    const results = judged.map(({ result, error }) => result ?? { error });
    const text = flags.json
      ? JSON.stringify({ summary, results }) + "\n"
      : describeBatch(judged, summary, flags.explain ?? false);
    process.stdout.write(text);
  } finally {
    progress.clear();
    await verifier.close();
  }
}

async function readAnswers(program: string | undefined, flags: Flags) {
  if (flags.rollout !== undefined) return [await readRollout(flags.rollout)];
  if (flags.problems === undefined) throw new ConfigError("verify needs --problems FILE");
  const problems = await readProblems(flags.problems);
  return flags.completions !== undefined
    ? loadAnswers(flags.completions, problems)
    : [await answerOf(program, flags.problem, problems)];
}

async function answerOf(
  path: string | undefined,
  id: string | undefined,
  problems: Awaited<ReturnType<typeof readProblems>>,
) {
  if (path === undefined)
    throw new ConfigError("verify needs --completions FILE or a program file");
  if (id === undefined && problems.size > 1) {
    throw new ConfigError(`the file holds ${problems.size} problems: name one with --problem ID`);
  }
  const problem = problems.get(id ?? [...problems.keys()][0]);
  if (problem === undefined) throw new ConfigError(`no problem of the file has the id ${id}`);
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new ConfigError(`the program ${path} cannot be read: ${whyUnreadable(cause)}`, { cause });
  });
  const isCompletion = [".md", ".txt"].includes(extname(path));
  return { problem, completion: isCompletion ? text : blockOf(text, problem.language) };
}
