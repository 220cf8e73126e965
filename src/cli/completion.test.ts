/** The completion scripts, in the shells themselves. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { CONFIG_KEYS } from "../config/schema.js";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "rlvr-completion-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
writeFileSync(join(dir, "here.yaml"), "seed: 1\n");

const written = (...args: string[]) =>
  execFileSync(process.execPath, ["--import", "tsx", MAIN, "completion", ...args], {
    encoding: "utf8",
  });
/** Each script is written once. */
const scripts = new Map<string, string>();
function scriptOf(shell: string): string {
  const script = scripts.get(shell) ?? written(shell);
  scripts.set(shell, script);
  return script;
}
const has = (shell: string) => spawnSync(shell, ["--version"]).status === 0;

/** Asks bash for what follows words; the last one is what has been typed of the word at hand. */
function completeInBash(...words: string[]): string[] {
  const array = ["rlvr", ...words].map((word) => `'${word}'`).join(" ");
  const script = `${scriptOf("bash")}
COMP_WORDS=(${array}) COMP_CWORD=${words.length}
_rlvr
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const reply = execFileSync("bash", ["-c", script], { cwd: dir, encoding: "utf8" });
  return reply.split("\n").filter((line) => line !== "");
}

describe.skipIf(!has("bash"))("in bash", () => {
  test("commands", () => {
    expect(completeInBash("")).toEqual(expect.arrayContaining(["init", "train", "help"]));
    expect(completeInBash("do")).toEqual(["doctor"]);
    expect(completeInBash("help", "me")).toEqual(["merge"]);
  });

  test("flags", () => {
    expect(completeInBash("train", "--dr")).toEqual(["--dry-run"]);
    expect(completeInBash("merge", "--out", "x", "--lora")).toEqual(["--lora", "--lora-alpha"]);
  });

  test("values of flags that have few", () => {
    expect(completeInBash("train", "--preset", "starter-g")).toEqual(["starter-grpo"]);
    expect(completeInBash("merge", "--dtype", "b")).toEqual(["bf16"]);
    expect(completeInBash("completion", "f")).toEqual(["fish"]);
    expect(completeInBash("eval", "human")).toEqual(["humaneval"]);
  });

  test("files where the value is free", () => {
    expect(completeInBash("train", "--out", "he")).toEqual(["here.yaml"]);
    expect(completeInBash("train", "her")).toEqual(["here.yaml"]);
  });

  test("every key of the config", () => {
    const offered = completeInBash("train", "");
    expect(offered).toEqual(expect.arrayContaining(CONFIG_KEYS.map(({ path }) => `${path}=`)));
    expect(completeInBash("train", "algorithm.adv")).toEqual(["algorithm.adv_estimator="]);
  });

  test("values of keys, before and after their first letter", () => {
    expect(completeInBash("train", "engine", "=")).toEqual(["embedded", "verl"]);
    expect(completeInBash("train", "algorithm.adv_estimator", "=", "gr")).toContain("grpo");
    expect(completeInBash("train", "data.shuffle", "=", "f")).toEqual(["false"]);
  });
});

describe("the other shells", () => {
  test.skipIf(!has("zsh"))("zsh takes its script (needs zsh)", () => {
    const script = `autoload -U compinit && compinit -u -d ${dir}/dump\n${written("zsh")}
print -r -- $_comps[rlvr]; _rlvr_values 'train engine'`;
    writeFileSync(join(dir, "test.zsh"), script);
    const reply = execFileSync("zsh", ["-f", join(dir, "test.zsh")], { encoding: "utf8" });
    expect(reply).toBe("_rlvr\nembedded verl\n");
  });

  test.skipIf(!has("fish"))("fish offers commands, flags and keys (needs fish)", () => {
    writeFileSync(join(dir, "rlvr.fish"), written("fish"));
    const complete = (line: string) => {
      const command = `source ${dir}/rlvr.fish; complete -C '${line}'`;
      const env = { ...process.env, HOME: dir };
      const reply = execFileSync("fish", ["--no-config", "-c", command], { encoding: "utf8", env });
      return reply.split("\n").map((row) => row.split("\t")[0]);
    };
    expect(complete("rlvr doc")).toContain("doctor");
    expect(complete("rlvr train --dry")).toContain("--dry-run");
    expect(complete("rlvr train --preset starter-g")).toContain("starter-grpo");
    expect(complete("rlvr train engine=")).toEqual(
      expect.arrayContaining(["engine=verl", "engine=embedded"]),
    );
  });

  test("a shell nobody knows is refused", () => {
    expect(() => written("tcsh")).toThrow(/Allowed choices are bash, zsh, fish/);
  });

  test("--json prints the words", () => {
    const commands = JSON.parse(written("bash", "--json")) as { name: string }[];
    expect(commands.map(({ name }) => name)).toContain("train");
  });
});
