/**
 * Preparing 480,000 rows in the shape of Eurus-2-RL-Data, beside the usual way with pandas, each in
 * a process of its own, one after the other, on the same file.
 *
 *     rows_per_s    rows read and screened per second by ours
 *     speed_ratio   pandas' time over ours; above 1, ours is faster
 *     memory_ratio  pandas' peak memory over ours
 *     peak_mb       our peak resident memory
 *
 * `--rows N` makes a smaller file, for a quick look.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Runs the bench. */
export async function run(args: string[]): Promise<Record<string, number>> {
  const at = args.indexOf("--rows");
  const rows = at === -1 ? 480_000 : Number(args[at + 1]);
  const venvs = process.env["CODE_RLVR_VENVS"] ?? join(homedir(), ".cache/code-rlvr/venvs");
  const python = join(venvs, "data/bin/python");
  if (!existsSync(python)) throw new Error(`bench: ${python} is missing; run test/venvs.sh data`);
  const dir = mkdtempSync(join(tmpdir(), "bench-prepare-"));
  try {
    const file = join(dir, "rows.parquet");
    await measure(python, [here("../test/prepare/make_rows.py"), file, String(rows)]);
    console.log(`${rows} rows, ${(statSync(file).size / 1e9).toFixed(2)} GB`);
    const baseline = [
      here("../test/prepare/tutorial_pandas.py"),
      file,
      join(dir, "pandas.parquet"),
    ];
    const main = here("../dist/cli/main.js");
    if (!existsSync(main)) throw new Error("bench: dist is missing; run npm run build");
    const ours = [main, "prepare", file, "--out", join(dir, "ours")];
    // The file is in the page cache for both: it has just been written.
    const pandas = await measure(python, baseline);
    const product = await measure(process.execPath, ours);
    console.log("pandas", pandas, "ours", product);
    return {
      rows_per_s: Math.round(rows / product.seconds),
      speed_ratio: pandas.seconds / product.seconds,
      memory_ratio: pandas.peakMb / product.peakMb,
      peak_mb: product.peakMb,
    };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** Runs a program to its end; its peak memory is what the kernel counted of its resident set. */
async function measure(command: string, args: string[]) {
  const start = performance.now();
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
  const errors: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  let peakMb = 0;
  const timer = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      peakMb = Math.max(peakMb, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // The process has just ended.
    }
  }, 20);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  clearInterval(timer);
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}:\n${Buffer.concat(errors)}`);
  return { seconds: (performance.now() - start) / 1000, peakMb };
}
