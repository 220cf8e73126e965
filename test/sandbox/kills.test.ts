/** What happens when a server or its owner is killed: no wrong verdict, no orphan, no stale file. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { SandboxError } from "../../src/core/errors.js";
import { openSandbox } from "../../src/verify/sandbox/open.js";
import { ProgramStore } from "../../src/verify/sandbox/program-store.js";
import { runAll, runOne } from "./programs.js";
import { commandOf, WAYS } from "./ways.js";

/** Root without the right to change users cannot run programs that fork. */
const isRoot = process.getuid?.() === 0;

/** Every process with what it needs for the tree: a table read once from /proc. */
function processes(): { pid: number; parent: number; command: string }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const parent = /^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1];
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
        return [{ pid: Number(name), parent: Number(parent), command }];
      } catch {
        return [];
      }
    });
}

function below(root: number): number[] {
  const all = processes();
  const found: number[] = [];
  for (let level = [root]; level.length > 0;) {
    level = all.filter(({ parent }) => level.includes(parent)).map(({ pid }) => pid);
    found.push(...level);
  }
  return found;
}

const serversOf = (root: number) =>
  processes()
    .filter(({ parent, command }) => parent === root && command.includes("sandbox/server.py"))
    .map(({ pid }) => pid);

async function until(what: () => boolean): Promise<boolean> {
  for (let round = 0; round < 400; round++) {
    if (what()) return true;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return what();
}

const areGone = (pids: number[]) => {
  const alive = new Set(processes().map(({ pid }) => pid));
  return pids.every((pid) => !alive.has(pid));
};

describe("a server that is killed", () => {
  test("takes its programs along; the others finish, and it is replaced", async () => {
    const sandbox = await openSandbox({ workers: 2, requireIsolation: "basic" });
    const before = new Set(serversOf(process.pid));
    const source = "import time; time.sleep(0.02); print(int(input()) * 2)";
    const batch = Array.from({ length: 40 }, (_, i) =>
      runAll(sandbox, source, [`${i}`, `${i + 1}`]),
    );
    const settled = Promise.allSettled(batch);
    await batch[4];
    const [victim] = before;
    const itsOwn = below(victim);
    expect(itsOwn.length).toBeGreaterThan(0);
    process.kill(victim, "SIGKILL");
    let failed = 0;
    for (const [i, result] of (await settled).entries()) {
      if (result.status === "fulfilled") {
        const outputs = result.value.map(({ stdout }) => stdout);
        expect(outputs).toEqual([`${2 * i}\n`, `${2 * i + 2}\n`]);
      } else {
        expect(result.reason).toBeInstanceOf(SandboxError);
        failed++;
      }
    }
    expect(failed).toBeGreaterThan(0);
    // Two jobs lie in a server at a time, so no more than those are lost.
    expect(failed).toBeLessThanOrEqual(2);
    expect(await until(() => areGone([victim, ...itsOwn]))).toBe(true);
    expect(
      await until(() => serversOf(process.pid).filter((pid) => !before.has(pid)).length === 1),
    ).toBe(true);
    expect(await runOne(sandbox, "print(input())", "again")).toMatchObject({ stdout: "again\n" });
    await sandbox.close();
    expect(below(process.pid).filter((pid) => before.has(pid))).toEqual([]);
  }, 60_000);

  test("gives its sessions an error, not an end", async () => {
    const sandbox = await openSandbox({ workers: 1, requireIsolation: "basic" });
    const [server] = serversOf(process.pid);
    const limits = { cpuMs: 1e4, wallMs: 1e4, memoryBytes: 2 ** 28, outputBytes: 2 ** 20 };
    const session = await sandbox.openSession({
      role: "candidate",
      source: "def f(): pass",
      limits,
    });
    await session.receive();
    const next = session.receive();
    process.kill(server, "SIGKILL");
    await expect(next).rejects.toThrow(SandboxError);
    await session.close();
    await sandbox.close();
  }, 60_000);

  test("leaves nothing of a program that had started processes", async () => {
    const sandbox = await openSandbox({ workers: 1, requireIsolation: "basic" });
    const [server] = serversOf(process.pid);
    const source = "(setsid sleep 4321234 &); (setsid sleep 4321234 &); sleep 4321234";
    const sleepers = () => processes().filter(({ command }) => command.includes("sleep 4321234"));
    const run = runOne(sandbox, source, "", { language: "bash", limits: { wallMs: 60_000 } });
    const refused = expect(run).rejects.toThrow(SandboxError);
    expect(await until(() => sleepers().length >= 3)).toBe(true);
    process.kill(server, "SIGKILL");
    await refused;
    expect(await until(() => sleepers().length === 0)).toBe(true);
    await sandbox.close();
  }, 60_000);

  test("is started again after a pause when its interpreter is away for a while", async () => {
    const folder = mkdtempSync(join(tmpdir(), "interpreter-"));
    chmodSync(folder, 0o755);
    const python = join(folder, "python3");
    symlinkSync("/usr/bin/python3", python);
    const sandbox = await openSandbox({ workers: 1, requireIsolation: "basic", python });
    const away = join(folder, "away");
    renameSync(python, away);
    for (const server of serversOf(process.pid)) process.kill(server, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 50));
    const limits = { cpuMs: 1e4, wallMs: 1e4, memoryBytes: 2 ** 28, outputBytes: 2 ** 20 };
    const opened = sandbox.openSession({ role: "candidate", source: "def f(): pass", limits });
    const run = runOne(sandbox, "print(input())", "later");
    await new Promise((resolve) => setTimeout(resolve, 500));
    renameSync(away, python);
    const session = await opened;
    expect(await session.receive()).toMatchObject({ kind: "message" });
    expect(await run).toMatchObject({ stdout: "later\n" });
    await session.close();
    renameSync(python, away);
    for (const server of serversOf(process.pid)) process.kill(server, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 50));
    const refused = expect(runOne(sandbox, "print(1)")).rejects.toThrow(SandboxError);
    // A pause is no reason to wait for the end.
    const startedAt = performance.now();
    await sandbox.close();
    expect(performance.now() - startedAt).toBeLessThan(2000);
    await refused;
    rmSync(folder, { recursive: true });
  }, 60_000);

  test("is not replaced once the sandbox is closed", async () => {
    const sandbox = await openSandbox({ workers: 1, requireIsolation: "basic" });
    await sandbox.close();
    await expect(runOne(sandbox, "print(1)")).rejects.toThrow(SandboxError);
  }, 60_000);
});

describe.each(WAYS)("an owner $name", (way) => {
  const hasBash = !(way.level.source === "^basic$" && way.uid === undefined && isRoot);
  const tried = way.isPossible && hasBash ? test : test.skip;
  const sleepers = () => processes().filter(({ command }) => command.includes("sleep 7654321"));

  const start = async (): Promise<ChildProcess> => {
    const [command, ...args] = commandOf(way, "busy-owner.ts");
    const owner = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] });
    await once(owner.stdout as NodeJS.ReadableStream, "data");
    expect(await until(() => sleepers().length > 1)).toBe(true);
    return owner;
  };

  tried(
    "that is killed in the middle of a batch leaves no process",
    { timeout: 60_000 },
    async () => {
      const owner = await start();
      const all = below(owner.pid as number);
      expect(all.length).toBeGreaterThan(3);
      owner.kill("SIGKILL");
      await once(owner, "close");
      expect(await until(() => areGone(all))).toBe(true);
      expect(await until(() => sleepers().length === 0)).toBe(true);
    },
  );

  tried("whose servers are killed keeps no program", { timeout: 60_000 }, async () => {
    const owner = await start();
    const servers = serversOf(owner.pid as number);
    const all = servers.flatMap((server) => [server, ...below(server)]);
    for (const server of servers) process.kill(server, "SIGKILL");
    // Its batch fails with SandboxError, which ends it.
    await once(owner, "close");
    expect(await until(() => areGone(all))).toBe(true);
    expect(await until(() => sleepers().length === 0)).toBe(true);
  });

  tried(
    "that is killed leaves a folder that the next owner removes",
    { timeout: 60_000 },
    async () => {
      const owner = await start();
      const isIts = (name: string) => name.startsWith(`code-rlvr-programs-${owner.pid}-`);
      expect(readdirSync(tmpdir()).filter(isIts)).toHaveLength(1);
      owner.kill("SIGKILL");
      await once(owner, "close");
      const store = await ProgramStore.open();
      expect(readdirSync(tmpdir()).filter(isIts)).toEqual([]);
      await store.close();
    },
  );
});
