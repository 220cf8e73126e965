/**
 * Every preset on real releases of veRL: Hydra resolves our overrides without error, and the
 * resolved configuration holds every value we set, field by field.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { PRESETS } from "../../src/config/presets.js";
import { resolveConfig } from "../../src/config/resolve.js";
import { quoteForShell } from "../../src/launch/hydra.js";
import { findUnknownKeys } from "../../src/launch/overrides.js";
import { planLaunch } from "../../src/launch/plan.js";
import { probeMachine } from "../../src/launch/probe.js";
import { formatCommand, formatScript } from "../../src/launch/command.js";
import { venvPython } from "../merge/venv.js";

const SCRIPT = fileURLToPath(new URL("./resolve_config.py", import.meta.url));
const VERSIONS = ["0.5.0", "0.6.1", "0.7.1", "0.8.0", "0.9.0", "0.9.1"];
const presets = Object.keys(PRESETS).filter(
  (preset) => resolveConfig({ preset }).config.engine === "verl",
);

async function planFor(python: string, preset: string, overrides: string[] = []) {
  const resolved = resolveConfig({
    preset,
    overrides: [
      ...["data.train_files=/data/train.parquet", "data.val_files=/data/val.parquet"],
      ...overrides,
    ],
  });
  const machine = await probeMachine(python, { files: [], disk: "/" });
  const plan = planLaunch(resolved, {
    dir: "/runs/it's a run",
    name: "it's a run",
    rewardShim: "/opt/code rlvr/verl_reward.py",
    token: null,
    python: machine.python,
    knownKeys: machine.knownKeys,
  });
  return { plan, machine };
}

const valueAt = (config: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], config);

describe.each(VERSIONS)("veRL %s", (version) => {
  const python = venvPython(`verl-${version}`);
  const resolve = (words: string[]): unknown =>
    JSON.parse(
      execFileSync(python as string, [SCRIPT], {
        input: JSON.stringify(words),
        encoding: "utf8",
        stdio: "pipe",
        maxBuffer: 2 ** 26,
      }),
    );

  describe.skipIf(python === null)(`in its environment (venv verl-${version})`, () => {
    test.each(presets)("%s: every value that we set is there", async (preset) => {
      const { plan, machine } = await planFor(python as string, preset);
      expect(machine.python.versions.verl).toBe(version);
      expect(findUnknownKeys(plan.overrides, machine.knownKeys as Set<string>)).toEqual([]);
      const config = resolve(plan.command.words.slice(3));
      const wrong = plan.overrides.filter(
        ({ key, value }) => JSON.stringify(valueAt(config, key)) !== JSON.stringify(value),
      );
      expect(wrong).toEqual([]);
      const home = plan.release.rewardHome === "top" ? "" : "reward.";
      expect(valueAt(config, `${home}custom_reward_function.path`)).toBe(
        "/opt/code rlvr/verl_reward.py",
      );
      expect(valueAt(config, `${home}custom_reward_function.reward_kwargs.urls`)).toBe(
        plan.urls[0],
      );
      expect(valueAt(config, "data.train_files")).toBe("/data/train.parquet");
    });

    test("values with every kind of character come out as they went in", async () => {
      for (const text of [
        "a b",
        "it's",
        'say "x"',
        "a,b=[c]:{d}",
        "null",
        "1e5",
        "ä€",
        "x\\y",
        "${z}",
      ]) {
        const override = `trainer.project_name=${JSON.stringify(text)}`;
        const { plan } = await planFor(python as string, presets[0], [override]);
        expect(valueAt(resolve(plan.command.words.slice(3)), "trainer.project_name")).toBe(text);
      }
    });

    test("the printed command and the script say the same words to a shell", async () => {
      const { plan } = await planFor(python as string, presets[0]);
      const echo = { ...plan.command, words: ["printf", "%s\\n", ...plan.command.words] };
      const say = (text: string) =>
        execFileSync("bash", ["-c", text], { encoding: "utf8" }).trimEnd().split("\n");
      expect(say(formatCommand(echo))).toEqual(plan.command.words);
      expect(say(formatScript(echo, { service: "rlvr serve" }))).toEqual(plan.command.words);
      expect(quoteForShell("plain")).toBe("plain");
    });

    test("a key it does not have is refused by it, so that the checks above can fail", () => {
      expect(presets).toHaveLength(3);
      expect(() => resolve(["trainer.no_such_key=1"])).toThrow(/no_such_key/);
    });
  });
});
