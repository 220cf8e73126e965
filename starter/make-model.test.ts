import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

function make(dir: string, seed: number): Map<string, Buffer> {
  const words = ["starter/make-model.ts", "--out", dir, "--steps", "2", "--seed", String(seed)];
  execFileSync(process.execPath, ["--import", "tsx", ...words], { cwd: ROOT });
  return new Map(
    readdirSync(dir)
      .sort()
      .map((name) => [name, readFileSync(join(dir, name))]),
  );
}

test("make-model gives the same bytes for the same seed, and others for another", () => {
  const dir = mkdtempSync(join(tmpdir(), "rlvr-make-model-"));
  try {
    const [first, second, other] = [1, 1, 2].map((seed, i) => make(join(dir, String(i)), seed));
    expect(second).toEqual(first);
    const weights = "model.safetensors";
    expect(other.get(weights)!.equals(first.get(weights)!)).toBe(false);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}, 180_000);
