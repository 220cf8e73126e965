/**
 * What the Dockerfile and compose.yaml ask for, without a container engine: the built service as
 * their user, without capabilities or new privileges, where only a temporary folder can be written.
 * Skips, and says so, where this machine does not let us mount, or nothing is built.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MAIN = join(ROOT, "dist/cli/main.js");
const dockerfile = readFileSync(join(ROOT, "Dockerfile"), "utf8");
const compose = parse(readFileSync(join(ROOT, "compose.yaml"), "utf8")) as {
  services: { rlvr: { command: string[]; read_only: boolean; cap_drop: string[] } };
};

const canMount = spawnSync("unshare", ["--mount", "true"]).status === 0;
const READ_ONLY = `mount --bind / / && mount -o remount,ro,bind / &&
mount --bind "$1" "$1" && mount -o remount,rw,bind "$1" && shift && exec "$@"`;

describe("the files", () => {
  test("name one user, one port and one folder of runs", () => {
    expect(/^USER (\S+)$/m.exec(dockerfile)?.[1]).toBe("1000:1000");
    const { command, read_only: isReadOnly, cap_drop: dropped } = compose.services.rlvr;
    expect(command.slice(0, 5)).toEqual(["serve", "--host", "0.0.0.0", "--runs", "/runs"]);
    expect(JSON.parse(/^CMD (.*)$/m.exec(dockerfile)?.[1] ?? "")).toEqual(command.slice(0, 5));
    expect({ isReadOnly, dropped }).toEqual({ isReadOnly: true, dropped: ["ALL"] });
    expect(/^EXPOSE (\d+)$/m.exec(dockerfile)?.[1]).toBe("8710");
  });
});

describe.skipIf(!canMount || !existsSync(MAIN))("the service (needs root and a build)", () => {
  const dir = mkdtempSync(join(tmpdir(), "rlvr-container-"));
  const temporary = join(dir, "tmp");
  let child: ChildProcess;
  let url = "";

  beforeAll(async () => {
    chmodSync(dir, 0o755);
    mkdirSync(join(dir, "runs"));
    mkdirSync(temporary);
    spawnSync("chown", ["1000:1000", temporary]);
    const { command } = compose.services.rlvr;
    const words = command.map((word) => (word === "/runs" ? join(dir, "runs") : word));
    const user = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--no-new-privs"];
    const bare = [...user, "--bounding-set=-all", "--inh-caps=-all", process.execPath, MAIN];
    const args = ["--mount", "bash", "-c", READ_ONLY, "bash", temporary, ...bare, ...words];
    const env = { PATH: process.env.PATH, HOME: temporary, TMPDIR: temporary };
    child = spawn("unshare", [...args, "--port", "0", "--json"], {
      env: { ...env, RLVR_VERIFIER_TOKEN: "secret" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    for await (const line of createInterface({ input: child.stdout! })) {
      url = (JSON.parse(line) as { url: string }).url.replace("0.0.0.0", "127.0.0.1");
      break;
    }
  });
  afterAll(async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
    rmSync(dir, { recursive: true });
  });

  test("passes the health check of the Dockerfile", () => {
    const check = /HEALTHCHECK [^\n]*\n\s*CMD (.*)$/m.exec(dockerfile)?.[1] ?? "";
    const [, ...args] = JSON.parse(check) as string[];
    const at = (where: string) => args.map((arg) => arg.replace("http://127.0.0.1:8710", where));
    expect(spawnSync(process.execPath, at(url)).status).toBe(0);
    expect(spawnSync(process.execPath, at("http://127.0.0.1:9")).status).toBe(1);
  });

  test("asks for the token, and judges a program", async () => {
    const body = JSON.stringify({ language: "python", code: "print(6 * 7)" });
    const headers = { "content-type": "application/json" };
    const refused = await fetch(`${url}/run_code`, { method: "POST", headers, body });
    expect(refused.status).toBe(401);
    const answer = await fetch(`${url}/run_code`, {
      method: "POST",
      headers: { ...headers, authorization: "Bearer secret" },
      body,
    });
    expect(await answer.json()).toMatchObject({ run_result: { stdout: "42\n", return_code: 0 } });
  });
});
