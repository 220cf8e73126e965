/**
 * The package as a stranger gets it: packed, installed into an empty folder, used by an ordinary
 * user without a network. Skips, and says so, where no registry can be reached.
 */
import { execFile, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";

const call = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
const TIMEOUT = 600_000;
const UNREACHABLE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT)\b/;
/** The user "nobody", whom every Linux has. */
const NOBODY = 65_534;
const IS_ROOT = process.getuid?.() === 0;
const runs = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
/** Words before a command that take the network away; none where the machine refuses. */
const OFFLINE = runs("unshare", "--net", "true")
  ? ["unshare", "--net"]
  : runs("unshare", "--map-root-user", "--net", "true")
    ? ["unshare", "--map-root-user", "--net"]
    : [];
const AS_USER =
  IS_ROOT && runs("setpriv", "--version")
    ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"]
    : [];

const dir = mkdtempSync(join(tmpdir(), "rlvr-package-"));
const home = join(dir, "home");
const project = join(home, "project");
let unreachable: string | null = null;

/** Runs a command in the project with hardly any environment, as the user, without a network. */
async function asStranger(...words: string[]) {
  const [command, ...args] = [...OFFLINE, ...AS_USER, ...words];
  const env = { PATH: process.env.PATH, HOME: home };
  return call(command, args, { cwd: project, env, maxBuffer: 2 ** 26 });
}

const needRegistry = (context: TestContext) =>
  context.skip(unreachable !== null, `no package registry: ${unreachable}`);

beforeAll(async () => {
  mkdirSync(project, { recursive: true });
  const packed = await call(
    "npm",
    ["pack", "--ignore-scripts", "--json", "--pack-destination", dir],
    { cwd: ROOT },
  );
  const [{ filename }] = JSON.parse(packed.stdout) as { filename: string }[];
  writeFileSync(join(project, "package.json"), '{ "private": true }\n');
  try {
    // Its own install script fetches CUDA libraries, which the processor's engine never loads.
    const env = { ...process.env, ONNXRUNTIME_NODE_INSTALL: "skip" };
    const args = ["install", "--no-audit", "--no-fund", "--prefer-offline", join(dir, filename)];
    await call("npm", args, { cwd: project, env });
  } catch (error) {
    const { stderr } = error as { stderr: string };
    unreachable = UNREACHABLE.exec(stderr)?.[0] ?? null;
    if (unreachable === null) throw error;
  }
  chmodSync(dir, 0o755);
  if (AS_USER.length > 0) await call("chown", ["-R", `${NOBODY}:${NOBODY}`, home]);
}, TIMEOUT);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("the installed package", () => {
  test("says its help and its version", { timeout: TIMEOUT }, async (context) => {
    needRegistry(context);
    const { stdout } = await asStranger("npx", "rlvr", "--help");
    expect(stdout).toMatch(/^Usage: rlvr \[options\] \[command\]\n/);
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      version: string;
    };
    expect((await asStranger("npx", "rlvr", "--version")).stdout).toBe(`${version}\n`);
  });

  test("trains the starter model without a network", { timeout: TIMEOUT }, async (context) => {
    needRegistry(context);
    context.skip(OFFLINE.length === 0, "this machine does not let us take the network away");
    const ask = "await fetch('https://registry.npmjs.org/').then(() => 'yes', () => 'no')";
    const asked = await asStranger("node", "--input-type=module", "-e", `console.log(${ask})`);
    expect(asked.stdout).toBe("no\n");
    const words = ["trainer.total_training_steps=1", "trainer.val_before_train=false"];
    const { stdout } = await asStranger("npx", "rlvr", "train", "--no-eval", ...words);
    expect(stdout).toMatch(/^\[Step 1\] {2}train \| reward\/score=0\.\d\d \| /m);
  });

  test("opens every door to a TypeScript project", { timeout: TIMEOUT }, async (context) => {
    needRegistry(context);
    copyFileSync(join(ROOT, "test/package/consumer.mts"), join(project, "consumer.mts"));
    const options = ["--module", "nodenext", "--target", "es2023", "--strict", "--types", "node"];
    const types = ["--typeRoots", join(ROOT, "node_modules/@types"), "--outDir", "out"];
    // Our declarations are checked too, and those of the packages that they name.
    await call(process.execPath, [TSC, ...options, ...types, "consumer.mts"], { cwd: project });
    const { stdout } = await asStranger("node", "out/consumer.mjs");
    expect(JSON.parse(stdout)).toEqual({
      verdict: "accepted",
      isOneModule: true,
      kinds: 9,
      doors: Array(6).fill("function"),
    });
  });

  test("holds what it needs and nothing else", async (context) => {
    needRegistry(context);
    const installed = join(project, "node_modules/code-rlvr");
    const { stdout } = await call("find", [".", "-type", "f"], { cwd: installed });
    const files = stdout
      .trim()
      .split("\n")
      .map((path) => path.slice(2));
    const odd = files.filter(
      (path) =>
        !/^dist\/.*\.(js|d\.ts|css|html|svg|md)$/.test(path) &&
        !/^(python\/.*\.py|starter\/(data|model)\/[\w.]+|[\w]+(\.md|\.json)?)$/.test(path),
    );
    expect(odd).toEqual([]);
    expect(files).toEqual(
      expect.arrayContaining([
        "LICENSE",
        "README.md",
        "python/verl_reward.py",
        "dist/web/licenses.md",
      ]),
    );
  });
});
