/**
 * Merges one checkpoint (1.5 GB, 4 ranks) with `rlvr merge`, with veRL's own merger and with `cp`,
 * each in its own process, and compares wall time and peak memory.
 *
 *     speed_ratio    veRL's time / ours; above 1 is faster
 *     memory_ratio   our peak resident memory / veRL's
 *     cp_ratio       our time / that of copying the shards with cp
 *
 * Needs the Python environments `torch` (to make the checkpoint) and `verl09`. Ours runs from the
 * built package (`npm run build`). The page cache is warm for all; the best of two runs counts.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { venvPython } from "../test/merge/venv.js";

interface Measured {
  seconds: number;
  peakBytes: number;
}

const inProject = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** Runs the bench. An argument names a folder that keeps the checkpoint for the next time. */
export async function run(args: string[]): Promise<Record<string, number>> {
  const [torch, verl] = [venvPython("torch"), venvPython("verl09")];
  const cli = inProject("dist/cli/main.js");
  if (torch === null || verl === null) throw new Error("needs the environments torch and verl09");
  if (!existsSync(cli)) throw new Error("needs the built package: npm run build");
  const dir = mkdtempSync(join(tmpdir(), "bench-merge-"));
  const source = args[0] ?? join(dir, "actor");
  if (!existsSync(join(source, "fsdp_config.json"))) {
    const script = inProject("bench/merge-checkpoint.py");
    execFileSync(torch, [script, source, inProject("starter/model")], { stdio: "inherit" });
  }
  try {
    let count = 0;
    const target = () => join(dir, `out-${count++}`);
    const ours = () => measure(process.execPath, [cli, "merge", source, "--out", target()]);
    const copy = () => measure("cp", ["-r", source, target()]);
    const theirs = () =>
      measure(verl, [
        ...["-m", "verl.model_merger", "merge", "--backend", "fsdp"],
        ...["--local_dir", source, "--target_dir", target()],
      ]);
    await copy();
    const rounds = { cp: await best(copy), rlvr: await best(ours), verl: await best(theirs) };
    for (const [name, { seconds, peakBytes }] of Object.entries(rounds)) {
      console.log(`${name}: ${seconds.toFixed(2)} s, peak ${(peakBytes / 1e6).toFixed(0)} MB`);
    }
    return {
      speed_ratio: rounds.verl.seconds / rounds.rlvr.seconds,
      memory_ratio: rounds.rlvr.peakBytes / rounds.verl.peakBytes,
      cp_ratio: rounds.rlvr.seconds / rounds.cp.seconds,
      rlvr_seconds: rounds.rlvr.seconds,
      verl_seconds: rounds.verl.seconds,
      cp_seconds: rounds.cp.seconds,
      rlvr_peak_mb: rounds.rlvr.peakBytes / 1e6,
      verl_peak_mb: rounds.verl.peakBytes / 1e6,
    };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

async function best(once: () => Promise<Measured>): Promise<Measured> {
  const [first, second] = [await once(), await once()];
  return {
    seconds: Math.min(first.seconds, second.seconds),
    peakBytes: Math.max(first.peakBytes, second.peakBytes),
  };
}

/** Runs a command; its peak memory is the high-water mark that the kernel keeps for it. */
async function measure(command: string, args: string[]): Promise<Measured> {
  const startedAt = performance.now();
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  let peakBytes = 0;
  const sample = () => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      peakBytes = Math.max(peakBytes, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024);
    } catch {
      // The process has just ended.
    }
  };
  const timer = setInterval(sample, 20);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  clearInterval(timer);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${stderr.slice(-2000)}`);
  return { seconds: (performance.now() - startedAt) / 1000, peakBytes };
}
