/**
 * Checkpoints made by the installed torch on CPU (gloo) merge to torch's own full state dict, and
 * the merged directory computes what the source model computed. Takes some minutes.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compareModels } from "../../src/merge/compare.js";
import { mergeCheckpoint } from "../../src/merge/merge.js";
import { venvPython } from "./venv.js";

const python = venvPython("torch");
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const call = promisify(execFile);

interface Check {
  weights: number;
  logits: number;
  missing: string[];
  unexpected: string[];
  dtype: string;
  how: string;
}

describe.skipIf(python === null)("merging what the newest torch saved (venv torch)", () => {
  let dir = "";
  beforeAll(() => void (dir = mkdtempSync(join(tmpdir(), "merge-torch-"))));
  afterAll(() => rmSync(dir, { recursive: true }));

  test.each([
    ["fsdp1", "qwen2", 2, "full"],
    ["fsdp1", "llama", 4, "lora"],
    ["fsdp2", "qwen2", 4, "full"],
    ["fsdp2", "llama", 2, "full"],
    ["fsdp2", "qwen2", 2, "lora"],
    ["hsdp1", "llama", 4, "full"],
    ["hsdp2", "qwen2", 4, "full"],
  ])(
    "%s of %s on %i ranks, %s: torch's full state dict and the source's logits",
    { timeout: 300_000 },
    async (strategy, model, worldSize, training) => {
      const source = join(dir, `${strategy}-${model}-${worldSize}-${training}`);
      const args = [source, strategy, model, String(worldSize)];
      if (training === "lora") args.push("lora");
      await call(python as string, [script("make_checkpoints.py"), ...args]);
      const report = await mergeCheckpoint({
        checkpoint: source,
        out: `${source}.merged`,
        dtype: "keep",
        lora: "fuse",
        loraAlpha: null,
        maxShardBytes: 30_000,
        base: null,
        reference: null,
        signal: null,
        onProgress: null,
      });
      expect(report.warnings).toEqual([]);
      expect(report.files.length).toBeGreaterThan(1);
      const { stdout } = await call(python as string, [
        script("check_model.py"),
        source,
        `${source}.merged`,
      ]);
      const check = JSON.parse(stdout) as Check;
      expect(check.how).toBe("full_state_dict");
      expect(check.weights).toBeLessThanOrEqual(training === "lora" ? 1e-6 : 0);
      expect(check.logits).toBeLessThan(2e-6);
      expect([check.missing, check.unexpected, check.dtype]).toEqual([[], [], "torch.float32"]);
    },
  );

  test("the LoRA fixture becomes what PEFT itself makes of it", { timeout: 120_000 }, async () => {
    const fixture = fileURLToPath(new URL("../fixtures/fsdp/cpu_fsdp1_lora_ws2", import.meta.url));
    const [reference, out] = [join(dir, "peft"), join(dir, "fused")];
    mkdirSync(reference);
    const expected = join(reference, "model.safetensors");
    await call(python as string, [script("peft_merge.py"), fixture, "8", expected]);
    await mergeCheckpoint({
      checkpoint: fixture,
      out,
      dtype: "keep",
      lora: "fuse",
      loraAlpha: 8,
      maxShardBytes: 5e9,
      base: join(fixture, "ref"),
      reference: null,
      signal: null,
      onProgress: null,
    });
    const differences = await compareModels(out, reference);
    expect(differences).toHaveLength(26);
    for (const item of differences) {
      expect(item.kind === "compared" && item.largest <= 1e-6).toBe(true);
    }
  });
});
