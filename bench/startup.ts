/**
 * Start-up of the built command: `npm run bench -- startup --json [--rounds 20]`.
 *
 * Each round starts Node alone, the baseline, then each command once, so that a busy moment meets
 * all of them. Figures are milliseconds from start to exit: the median, and the least of the help.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

const COMMANDS: Record<string, string[]> = {
  node: ["-e", "0"],
  help: [MAIN, "--help"],
  version: [MAIN, "--version"],
  train_help: [MAIN, "train", "--help"],
  verify_help: [MAIN, "verify", "--help"],
  serve_help: [MAIN, "serve", "--help"],
  train_dry_run: [MAIN, "train", "--dry-run"],
};

/** Starts every command so many times and answers the medians. */
export function run(args: string[]): Promise<Record<string, number>> {
  const options = { rounds: { type: "string", default: "20" } } as const;
  const rounds = Number(parseArgs({ args, options }).values.rounds);
  if (!existsSync(MAIN)) throw new Error("expected dist/cli/main.js: npm run build makes it");
  const times = new Map(Object.keys(COMMANDS).map((name) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, words] of Object.entries(COMMANDS)) times.get(name)?.push(measure(words));
  }
  const figures: Record<string, number> = {};
  for (const [name, all] of times) {
    all.sort((a, b) => a - b);
    figures[`${name}_ms`] = round1(all[Math.floor(all.length / 2)]);
  }
  figures.help_least_ms = round1(times.get("help")![0]);
  return Promise.resolve(figures);
}

function measure(words: string[]): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, words);
  const elapsed = performance.now() - start;
  if (status !== 0) throw new Error(`${words.join(" ")} ended with ${status}: ${String(stderr)}`);
  return elapsed;
}

const round1 = (ms: number) => Math.round(ms * 10) / 10;
