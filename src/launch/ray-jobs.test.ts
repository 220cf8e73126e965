/** Following a job while Ray's head answers badly, by a server that does so. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startOnRay } from "./job.js";
import { RayJobs } from "./ray-jobs.js";

const ID = "raysubmit_1";
const LOGS = "one\ntwo\n";
const command = { words: ["python3"], environment: {} };
const patience = { followMs: 400, stopMs: 200, pauseMs: 10 };

describe("a head that answers badly", () => {
  /** Calls by method and path, in order. */
  let calls: string[] = [];
  /** Status of the answers to a call, first to last; then all is well. Null hangs up. */
  let faults: Record<string, (number | null)[]> = {};
  /** How often the state is still `RUNNING`. */
  let running = 0;
  let logs = LOGS;
  const server = createServer(({ method, url }, response) => {
    const call = `${method} ${url}`;
    calls.push(call);
    const fault = faults[call]?.shift();
    if (fault === null) return void response.destroy();
    if (fault !== undefined) return void response.writeHead(fault).end("try later");
    const status = running > 0 ? "RUNNING" : "SUCCEEDED";
    if (call === `GET /api/jobs/${ID}`) running--;
    const answers: Record<string, object> = {
      "POST /api/jobs/": { submission_id: ID },
      [`GET /api/jobs/${ID}/logs`]: { logs },
      [`GET /api/jobs/${ID}`]: { status, driver_exit_code: null },
      [`POST /api/jobs/${ID}/stop`]: { stopped: true },
    };
    return void response.end(JSON.stringify(answers[call]));
  });
  let ray: RayJobs;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ray = new RayJobs(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, null, patience);
  });
  afterAll(() => void server.close());
  beforeEach(() => {
    [calls, faults, running, logs] = [[], {}, 0, LOGS];
  });

  const start = async (lines: string[] = []) =>
    startOnRay({ command, onLine: (line) => lines.push(line) }, { ray, id: null, pollMs: 5 });

  test("is asked again: the run is followed to its end, and no line is told twice", async () => {
    running = 2;
    faults = {
      [`GET /api/jobs/${ID}`]: [503, null, 500],
      [`GET /api/jobs/${ID}/logs`]: [429, null, 502],
      [`POST /api/jobs/${ID}/stop`]: [503],
    };
    const lines: string[] = [];
    const job = await start(lines);
    expect(await job.ended).toMatchObject({ code: 0 });
    expect(lines).toEqual(["one", "two"]);
    await job.stop();
    expect(calls.filter((call) => call.endsWith("/stop"))).toHaveLength(2);
  });

  test("is given up after a time that the error names", async () => {
    faults = { [`GET /api/jobs/${ID}`]: Array<number>(1000).fill(503) };
    const begin = performance.now();
    await expect((await start()).ended).rejects.toThrow(
      /GET http:.*raysubmit_1 answered 503: try later \(asked for 0\.4 s\)/,
    );
    expect(performance.now() - begin).toBeLessThan(1000);
    // Each pause is twice the one before.
    expect(calls.length).toBeLessThan(10);
  });

  test.each([401, 404])("that answers %d is not asked again", async (status) => {
    faults = { [`GET /api/jobs/${ID}`]: [status] };
    await expect((await start()).ended).rejects.toThrow(`answered ${status}`);
    expect(calls).toHaveLength(2);
  });

  test("is asked for a long log less often than for the state", async () => {
    running = 30;
    logs = "x".repeat(100_000) + "\n";
    await (
      await start()
    ).ended;
    const count = (path: string) => calls.filter((call) => call === `GET ${path}`).length;
    expect(count(`/api/jobs/${ID}`)).toBe(31);
    expect(count(`/api/jobs/${ID}/logs`)).toBeLessThan(10);
  });
});
