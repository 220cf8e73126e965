/** `rlvr verify --audit`: audits a problem file and writes what is left of it. */
import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { writeAtomic } from "../core/run.js";
import { formatLine } from "../formats/jsonl.js";
import { auditProblems, type Finding } from "../verify/audit.js";
import { readProblems } from "../verify/batch.js";
import { createVerifier } from "../verify/verify.js";
import { openProgress } from "./progress.js";

/** Flags that an audit reads. */
export interface AuditFlags {
  out?: string;
  workers?: number;
  json?: true;
}

/** Runs the audit and prints its findings. */
export async function runAudit(
  path: string,
  flags: AuditFlags,
  signal: AbortSignal,
): Promise<void> {
  const problems = [...(await readProblems(path)).values()];
  const progress = openProgress();
  const verifier = await createVerifier({
    ...(flags.workers === undefined ? {} : { workers: flags.workers }),
    // A flaky solution must have its three chances.
    reuse: false,
  });
  try {
    const { onProgress } = progress;
    const { findings, cleaned, audited } = await auditProblems(problems, verifier, {
      onProgress,
      signal,
    });
    progress.clear();
    const folder = flags.out ?? dirname(path);
    await mkdir(folder, { recursive: true });
    const stem = basename(path).replace(/\.jsonl(\.gz)?$/, "");
    const cleanedPath = join(folder, `${stem}.cleaned.jsonl`);
    const removedPath = join(folder, `${stem}.removed.jsonl`);
    await writeAtomic(cleanedPath, cleaned.map(formatLine).join(""));
    await writeAtomic(
      removedPath,
      findings
        .filter(({ isRemoved }) => isRemoved)
        .map(formatLine)
        .join(""),
    );
    const facts = {
      problems: problems.length,
      audited,
      kept: cleaned.length,
      cleanedPath,
      removedPath,
    };
    process.stdout.write(
      flags.json ? JSON.stringify({ ...facts, findings }) + "\n" : describe(findings, facts),
    );
  } finally {
    progress.clear();
    await verifier.close();
  }
}

function describe(
  findings: readonly Finding[],
  facts: {
    problems: number;
    audited: number;
    kept: number;
    cleanedPath: string;
    removedPath: string;
  },
): string {
  const rows = findings.map(({ problemId, test, kind, detail, isRemoved }) => {
    const where = test === null ? problemId : `${problemId} test ${test}`;
    return `${isRemoved ? "removed " : "reported"}  ${kind}  ${where}: ${detail}`;
  });
  return [
    ...rows,
    `${facts.problems} problems, ${facts.audited} with solutions; ${facts.kept} kept, ${findings.length} findings`,
    `${facts.cleanedPath}`,
    `${facts.removedPath}`,
    "",
  ].join("\n");
}
