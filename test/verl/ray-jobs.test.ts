/** A real local Ray with its Jobs REST API: submit, follow, stop, resources (venv verl09). */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LaunchError } from "../../src/core/errors.js";
import { startOnRay } from "../../src/launch/job.js";
import { RayJobs } from "../../src/launch/ray-jobs.js";
import { venvPython } from "../merge/venv.js";

const python = venvPython("verl09");

/** A port that nothing listens on just now. */
const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

describe.skipIf(python === null)("Ray's Jobs REST API (venv verl09)", () => {
  let dir = "";
  let ray: RayJobs;
  let head: ChildProcess;
  const bin = python === null ? "" : join(dirname(python), "ray");

  beforeAll(async () => {
    // Ray's sockets lie under this folder, and their paths must stay short.
    dir = mkdtempSync(join(tmpdir(), "ray-"));
    const [port, dashboard] = [await freePort(), await freePort()];
    head = spawn(bin, [
      ...["start", "--head", "--block", `--port=${port}`, `--dashboard-port=${dashboard}`],
      ...["--dashboard-host=127.0.0.1", "--num-cpus=3", "--num-gpus=0", "--disable-usage-stats"],
      ...["--include-dashboard=true", `--temp-dir=${dir}`, "--object-store-memory=100000000"],
    ]);
    ray = new RayJobs(`http://127.0.0.1:${dashboard}/`);
    // The dashboard comes up a little after the head, and the node a little after that.
    for (let tries = 0; ; tries++) {
      try {
        if ((await ray.resources()).cpus > 0) return;
      } catch (error) {
        if (tries === 60) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }, 240_000);

  afterAll(async () => {
    // `ray start --block` ends what it started, and nothing else, when it is asked to end.
    const ended = new Promise((resolve) => head.on("close", resolve));
    head.kill("SIGTERM");
    await ended;
    rmSync(dir, { recursive: true, force: true });
  }, 60_000);

  const start = async (program: string, lines: string[]) =>
    startOnRay(
      {
        command: {
          words: [python as string, "-u", "-c", program],
          environment: { RLVR_MARK: "it's here" },
        },
        onLine: (line) => void lines.push(line),
      },
      { ray, id: null, pollMs: 300 },
    );

  test("tells the cluster's resources", async () => {
    expect(await ray.resources()).toEqual({ cpus: 3, gpus: 0 });
  });

  test("submits a job, follows its lines with its environment, and tells its end", async () => {
    const lines: string[] = [];
    const program = 'import os\nfor i in range(3): print("line", i, os.environ["RLVR_MARK"])';
    const job = await start(program, lines);
    expect(await job.ended).toMatchObject({ code: 0 });
    expect(lines.filter((line) => line.startsWith("line"))).toEqual([
      ...["line 0 it's here", "line 1 it's here", "line 2 it's here"],
    ]);
  }, 120_000);

  test("a job that fails ends with its exit code", async () => {
    const lines: string[] = [];
    const job = await start('print("about to fail")\nraise SystemExit(3)', lines);
    const end = await job.ended;
    expect(end.code).toBe(3);
    expect(end.reason).toMatch(/^failed/);
    expect(lines.join("\n")).toContain("about to fail");
  }, 120_000);

  test("a job is stopped", async () => {
    const lines: string[] = [];
    const job = await start('import time\nprint("running")\ntime.sleep(600)', lines);
    while (!lines.some((line) => line.includes("running"))) {
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await job.stop();
    const end = await job.ended;
    expect(end.reason).toMatch(/^stopped/);
    expect(end.code).not.toBe(0);
  }, 120_000);

  test("an unknown job and a head that is not there are told with the address", async () => {
    await expect(ray.status("raysubmit_none")).rejects.toThrow(LaunchError);
    const nowhere = new RayJobs(`http://127.0.0.1:${await freePort()}`);
    await expect(nowhere.submit({ entrypoint: "true", environment: {}, id: null })).rejects.toThrow(
      /no answer from http:\/\/127\.0\.0\.1:\d+\/api\/jobs\//,
    );
  });
});
