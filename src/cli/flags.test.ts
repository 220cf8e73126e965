/** What the command line does with flags that do not go together, and with readers that go away. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "rlvr-flags-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const COMMAND = `"${process.execPath}" --import tsx "${MAIN}"`;

const shell = (words: string) =>
  spawnSync("bash", ["-c", `set -o pipefail; ${COMMAND} ${words}`], { encoding: "utf8" });

test.each([
  ["train --resume --dry-run", "--resume: expected a value, found the flag --dry-run"],
  ["verify a.py --problems p --completions c", "found a program file and --completions"],
  ["verify a.py --problems p --out x", "--out has no part here: it goes with --audit"],
  ["verify --audit p --explain", "--explain has no part here: it goes with answers"],
  ["prepare a.jsonl --out x --band 0.1,0.9", "--band has no part here: it goes with --completions"],
])("%s is refused", (words, message) => {
  const { status, stderr } = shell(words);
  expect(stderr).toContain(message);
  expect(status).toBe(2);
});

test("a training goes on when whoever read its output has gone", { timeout: 120_000 }, () => {
  const out = join(dir, "run");
  const short = ["trainer.total_training_steps=2", "trainer.val_before_train=false"];
  const words = `train --no-eval --out ${out} ${short.join(" ")} data.train_batch_size=16`;
  const sizes = "actor_rollout_ref.actor.ppo_mini_batch_size=8 data.val_files=null";
  const { status } = shell(`${words} ${sizes} 2>&1 | head -1`);
  expect(status).toBe(0);
  expect(JSON.parse(readFileSync(join(out, "run.json"), "utf8"))).toMatchObject({
    status: "finished",
  });
  expect(existsSync(join(out, "checkpoints/step_000002/manifest.json"))).toBe(true);
});

test.skipIf(!existsSync("/dev/full"))("a full disk behind standard output is one line", () => {
  const { status, stderr } = shell("train --dry-run > /dev/full");
  expect(stderr).toMatch(/^rlvr: standard output: ENOSPC/m);
  expect(stderr).not.toContain("    at ");
  expect(status).toBe(1);
});
