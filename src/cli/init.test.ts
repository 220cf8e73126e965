import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { presetValues } from "../config/presets.js";
import { resolveConfig, valueAt } from "../config/resolve.js";
import { askAll } from "./init.js";
import { type Place, PLACES, placeOf, writeConfig } from "./init-file.js";

const call = promisify(execFile);
const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const NODE = [process.execPath, "--import", import.meta.resolve("tsx"), MAIN];
const dir = mkdtempSync(join(tmpdir(), "rlvr-init-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const places = Object.keys(PLACES) as Place[];
const rlvr = (...args: string[]) =>
  call(NODE[0], [...NODE.slice(1), ...args], { cwd: dir }).catch(
    (error: { code: number; stdout: string; stderr: string }) => error,
  );

describe("the file that init writes", () => {
  test.each(places)("for %s is a config", (place) => {
    const { preset, values, model, data, validation } = placeOf(place);
    const text = writeConfig({ for: place, model, data, validation });
    const { config, preset: named } = resolveConfig({ file: { path: "rlvr.yaml", text } });
    expect(named).toBe(preset);
    const expected = new Map([...presetValues(preset), ...Object.entries(values)]);
    if (place !== "laptop") expected.set("data.train_files", data);
    for (const [path, value] of expected) expect(valueAt(config, path), path).toEqual(value);
  });

  test.each(places)("for %s explains every key that it sets", (place) => {
    const { model, data, validation } = placeOf(place);
    const lines = writeConfig({ for: place, model, data, validation }).split("\n");
    const keys = lines.flatMap((line, i) => (/^\s*\w+: ?\S|^\s+urls:/.test(line) ? [i] : []));
    const bare = keys.filter((i) => !lines[i - 1].trim().startsWith("#"));
    expect(bare.map((i) => lines[i])).toEqual([expect.stringMatching(/^preset: /)]);
  });

  test("quotes answers that YAML would read otherwise", () => {
    const answers = { model: "a: b", data: "#1.jsonl", validation: "yes" };
    const text = writeConfig({ for: "gpu", ...answers });
    const { config } = resolveConfig({ file: { path: "rlvr.yaml", text } });
    expect(config.actor_rollout_ref.model.path).toBe("a: b");
    expect(config.data).toMatchObject({ train_files: "#1.jsonl", val_files: "yes" });
  });
});

describe("the questions", () => {
  test("ask until the place is known, and only for what the flags leave open", async () => {
    const asked: string[] = [];
    const replies = ["moon", "GPU", "mine.jsonl", ""];
    const answers = await askAll({ model: "Qwen/X" }, (question, byDefault) => {
      asked.push(question.split("\n")[0]);
      return Promise.resolve(replies.shift() || byDefault);
    });
    expect(answers).toEqual({
      for: "gpu",
      model: "Qwen/X",
      data: "mine.jsonl",
      validation: "data/validation.jsonl",
    });
    expect(asked).toEqual([
      "Where will it train?",
      "Where will it train?",
      "Problems to train on",
      "Problems to validate on",
    ]);
  });

  test("are asked on a terminal", async () => {
    const script = `import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
said = b""
for question, answer in ("cluster?", "cluster"), ("Model", ""), ("train on", ""), ("validate", "v.jsonl"):
    while question.encode() not in said: said += os.read(terminal, 4096)
    os.write(terminal, answer.encode() + b"\\n")
try:
    while os.read(terminal, 4096): pass
except OSError: pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;
    const out = join(dir, "asked.yaml");
    await call("python3", ["-c", script, ...NODE, "init", "--out", out]);
    const { config } = resolveConfig({ file: { path: out, text: readFileSync(out, "utf8") } });
    expect(config.trainer.nnodes).toBe(2);
    expect(config.data.val_files).toBe("v.jsonl");
  });
});

describe("rlvr init", () => {
  test("writes a file that rlvr train takes, without questions", async () => {
    const written = await rlvr("init", "--for", "laptop", "--out", "new/run.yaml", "--json");
    expect(JSON.parse(written.stdout)).toMatchObject({ out: "new/run.yaml", for: "laptop" });
    const { stdout, stderr } = await rlvr("train", "new/run.yaml", "--dry-run");
    expect(stdout).toContain("total_training_steps: 75 # new/run.yaml");
    expect(stderr).toContain("96 prompts × 1 sample");
  });

  test("leaves a file that is there as it is, unless forced", async () => {
    const out = join(dir, "mine.yaml");
    writeFileSync(out, "seed: 1\n");
    const refused = await rlvr("init", "--for", "gpu", "--yes", "--out", out);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/is there already/) });
    expect(readFileSync(out, "utf8")).toBe("seed: 1\n");
    await rlvr("init", "--for", "gpu", "--yes", "--out", out, "--force");
    expect(readFileSync(out, "utf8")).toContain("preset: qwen2.5-coder-0.5b-1gpu");
  });

  test("asks for the place where nobody can be asked", async () => {
    const refused = await rlvr("init");
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/--for with one of/) });
    expect(existsSync(join(dir, "rlvr.yaml"))).toBe(false);
  });
});
