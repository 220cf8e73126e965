/**
 * A real local Ray with its Jobs REST API: submit, follow, stop, resources, and what its workers
 * find on their node (venv verl09).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { LaunchError } from "../../src/core/errors.js";
import { jobStarter, startOnRay } from "../../src/launch/job.js";
import { askNodes, type NodeFacts, nodeFaults, type NodeRequest } from "../../src/launch/nodes.js";
import { RayJobs } from "../../src/launch/ray-jobs.js";
import { releaseOf } from "../../src/launch/releases.js";
import { venvPython } from "../merge/venv.js";

const python = venvPython("verl09");

// Ray takes any text; this is as long as those it makes.
const TOKEN = "5ec4e7".padEnd(64, "0");

/** A port that nothing listens on just now. */
const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

/** Processes whose command line speaks of a folder. */
const processesOf = (folder: string) =>
  readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder);
    } catch {
      // It ended between the two calls.
      return false;
    }
  });

describe.skipIf(python === null)("Ray's Jobs REST API (venv verl09)", () => {
  let dir = "";
  let address = "";
  let ray: RayJobs;
  let head: ChildProcess;
  const bin = python === null ? "" : join(dirname(python), "ray");

  beforeAll(async () => {
    // Ray's sockets lie under this folder, and their paths must stay short.
    dir = mkdtempSync(join(tmpdir(), "ray-"));
    const [port, dashboard] = [await freePort(), await freePort()];
    const args = [
      ...["start", "--head", "--block", `--port=${port}`, `--dashboard-port=${dashboard}`],
      ...["--dashboard-host=127.0.0.1", "--num-cpus=3", "--num-gpus=0", "--disable-usage-stats"],
      ...["--include-dashboard=true", `--temp-dir=${dir}`, "--object-store-memory=100000000"],
    ];
    head = spawn(bin, args, {
      env: { ...process.env, RAY_AUTH_MODE: "token", RAY_AUTH_TOKEN: TOKEN },
    });
    address = `http://127.0.0.1:${dashboard}/`;
    ray = new RayJobs(address, TOKEN);
    // The dashboard comes up a little after the head, and the node a little after that.
    for (let tries = 0; ; tries++) {
      try {
        if ((await ray.resources()).cpus > 0) return;
      } catch (error) {
        if (tries === 200) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }, 300_000);

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

  test("a head that wants a token says where it is looked for", async () => {
    for (const token of [null, "wrong"]) {
      await expect(new RayJobs(address, token).resources()).rejects.toThrow(
        /answered 40[13]: .*; give the cluster's token in RAY_AUTH_TOKEN/,
      );
    }
  });

  test("an unknown job and a head that is not there are told with the address", async () => {
    await expect(ray.status("raysubmit_none")).rejects.toThrow(LaunchError);
    const nowhere = new RayJobs(`http://127.0.0.1:${await freePort()}`, null);
    await expect(nowhere.submit({ entrypoint: "true", environment: {}, id: null })).rejects.toThrow(
      /no answer from http:\/\/127\.0\.0\.1:\d+\/api\/jobs\//,
    );
  });

  describe("what a worker finds on its node", () => {
    const SHIM = fileURLToPath(new URL("../../python/verl_reward.py", import.meta.url));
    const needs = { release: releaseOf("0.9.0"), verl: "0.9.0" };
    // A service with a token: its health route is open, the others are not.
    const service = createHttpServer(({ url, headers }, response) => {
      const isAllowed = url === "/healthz" || headers.authorization === "Bearer right";
      response.writeHead(isAllowed ? 200 : 401).end();
    });
    let url = "";
    let nowhere = "";

    beforeAll(async () => {
      await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
      url = `http://127.0.0.1:${(service.address() as { port: number }).port}`;
      nowhere = `http://127.0.0.1:${await freePort()}`;
    });
    afterAll(() => void service.close());

    const request = (change: Partial<NodeRequest>): NodeRequest => ({
      ...{ reward: { path: SHIM, name: "compute_score" }, files: [dir], services: [url] },
      ...change,
    });
    const ask = async (change: Partial<NodeRequest>, token = "right") => {
      const start = jobStarter(ray, process.env);
      const answer = await askNodes(request(change), { python: python as string, token, start });
      expect(answer).not.toHaveProperty("failure");
      return "nodes" in answer ? answer.nodes : [];
    };
    const faultsOf = (nodes: NodeFacts[]) => nodeFaults(nodes, needs);

    test("everything is there", async () => {
      const nodes = await ask({});
      expect(nodes).toEqual([
        {
          address: expect.stringMatching(/^\d+(\.\d+){3}$/) as string,
          found: {
            ...{ python: expect.stringMatching(/^3\.\d+\.\d+/) as string, verl: "0.9.0" },
            ...{ reward: null, files: { [SHIM]: null, [dir]: null }, services: { [url]: null } },
            // That service says nothing of itself.
            health: { [url]: null },
          },
          lost: null,
        },
      ]);
      expect(faultsOf(nodes)).toEqual([]);
    }, 240_000);

    test("a service on another port, a wrong token and a missing reward file are named", async () => {
      const path = join(dir, "elsewhere.py");
      const reward = { path, name: "compute_score" };
      const faults = faultsOf(await ask({ reward, services: [url, nowhere] }, "wrong"));
      expect(faults).toHaveLength(3);
      const [file, token, port] = faults;
      expect(file).toMatch(/^node [\d.]+: .*elsewhere\.py: No such file or directory;.*storage/);
      expect(token).toContain(`${url} refuses us; give its token`);
      expect(port).toContain(`no verify service at ${nowhere} (Connection refused)`);
      expect(port).toMatch(/that address is each node itself/);
    }, 240_000);

    test("a reward file that does not load, or lacks the function, is named", async () => {
      const path = join(dir, "reward.py");
      writeFileSync(path, "import no_such_package\n");
      const broken = faultsOf(await ask({ reward: { path, name: "compute_score" } }));
      expect(broken.join()).toMatch(/does not load: ModuleNotFoundError: .*'no_such_package'/);
      const lacking = faultsOf(await ask({ reward: { path: SHIM, name: "my_score" } }));
      expect(lacking.join()).toMatch(/does not load: has no function my_score/);
    }, 240_000);

    test("a Ray of this machine's own answers as well, and leaves no process", async () => {
      // Not the cluster of the tests above: one that lives for the question.
      const environment = { ...process.env, RAY_TMPDIR: join(dir, "own"), HOME: dir };
      const start = jobStarter(null, environment);
      const options = { python: python as string, token: "right", start };
      const answer = await askNodes(request({ services: [url, nowhere] }), options);
      const nodes = "nodes" in answer ? answer.nodes : [];
      expect(nodes).toHaveLength(1);
      expect(faultsOf(nodes)).toEqual([expect.stringContaining(nowhere)]);
      await vi.waitUntil(() => processesOf(environment.RAY_TMPDIR).length === 0, {
        timeout: 60_000,
        interval: 200,
      });
    }, 240_000);
  });
});
