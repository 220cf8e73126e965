import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { resolveConfig } from "../config/resolve.js";
import { judgingSettings } from "../config/settings.js";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { SandboxError } from "../core/errors.js";
import type { Problem } from "../core/problem.js";
import { RunStore } from "../report/run-store.js";
import type { ProgramJob, ProgramOutcome, Sandbox } from "../verify/sandbox.js";
import type { Verifier, VerifyRequest, VerifyResult } from "../verify/verify.js";
import type { ServiceOptions } from "./context.js";
import { healthSchema } from "./schemas.js";
import { mountRunRoutes } from "./run-api.js";
import { createApp, type RunningService, startService } from "./server.js";

const problem: Problem = {
  id: "add",
  source: "test",
  prompt: [{ role: "user", content: "add" }],
  language: "python",
  tests: { kind: "stdio", cases: [{ input: "1 2", output: "3" }] },
};

const resultOf = ({ completion, problem }: VerifyRequest): VerifyResult => ({
  problemId: problem.id,
  extraction: { program: completion, format: true, reason: "block" },
  tests: [{ index: 0, verdict: { kind: "accepted" }, cpuMs: 1, wallMs: 1, peakBytes: 1 }],
  totalTests: 1,
  passRate: 1,
  verdict: "accepted",
  reward: 1,
  trust: "strong",
  fault: null,
  isReused: false,
});

const outcome: ProgramOutcome = {
  end: { kind: "exited", exitCode: 0 },
  stdout: Buffer.from("3\n"),
  stderr: "",
  cpuMs: 1,
  wallMs: 2,
  peakBytes: 3,
};

const OPTIONS: ServiceOptions = {
  token: null,
  pageToken: null,
  maxBodyBytes: 2 ** 20,
  concurrency: 2,
  queueCapacity: 4,
  deadlineMs: 1000,
};

interface Fakes {
  verify?: Verifier["verify"];
  run?: (job: ProgramJob) => Promise<ProgramOutcome[]>;
  options?: Partial<ServiceOptions>;
}

const partsOf = ({ verify, run, options }: Fakes) => {
  const verifier: Verifier = {
    level: "basic",
    verify: verify ?? (async (request) => resultOf(request)),
    close: async () => {},
  };
  const sandbox = { level: "basic", run: run ?? (async () => [outcome]) } as unknown as Sandbox;
  return { verifier, sandbox, options: { ...OPTIONS, ...options } };
};

const post = (fakes: Fakes, path: string, body: unknown, headers: Record<string, string> = {}) =>
  createApp(partsOf(fakes), "127.0.0.1").app.request(`http://127.0.0.1${path}`, {
    method: "POST",
    headers: { host: "127.0.0.1", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

describe("POST /verify", () => {
  test("judges one completion and answers its result", async () => {
    const response = await post({}, "/verify", { problem, completion: "x" });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ problemId: "add", reward: 1 });
  });

  test("judges several completions of one problem in their order", async () => {
    const response = await post({}, "/verify", { problem, completions: ["a", "b"] });
    const { results } = (await response.json()) as { results: VerifyResult[] };
    expect(results.map(({ extraction }) => extraction.program)).toEqual(["a", "b"]);
  });

  test("finds problems of items by their id", async () => {
    const items = [{ problem_id: "add", completion: "a" }];
    const response = await post({}, "/verify", { problems: [problem], items });
    expect(((await response.json()) as { results: unknown[] }).results).toHaveLength(1);
    const unknown = await post({}, "/verify", { problems: [], items });
    expect(unknown.status).toBe(422);
    expect(await unknown.text()).toMatch(/items\[0\].*add/);
  });

  test("streams a line per item, errors beside results", async () => {
    const verify: Verifier["verify"] = async (request) => {
      if (request.completion === "b") throw new SandboxError("server died");
      return resultOf(request);
    };
    const body = { problem, completions: ["a", "b"], stream: true };
    const response = await post({ verify }, "/verify", body);
    const lines = (await response.text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.sort((a, b) => a.index - b.index)).toMatchObject([
      { index: 0, result: { reward: 1 } },
      { index: 1, error: { error: "sandbox_error" } },
    ]);
  });

  test("a broken sandbox is 503 with Retry-After, never a result", async () => {
    const verify = () => Promise.reject(new SandboxError("server died"));
    const response = await post({ verify }, "/verify", { problem, completion: "x" });
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
  });

  test("refuses with 429 what the queue cannot take", async () => {
    const verify = () => new Promise<VerifyResult>(() => {});
    const { app } = createApp(partsOf({ verify }), null);
    const send = (completions: number) =>
      app.request("/verify", {
        method: "POST",
        body: JSON.stringify({ problem, completions: Array(completions).fill("x") }),
      });
    void send(4);
    const response = await send(3);
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("1");
  });

  test("refuses for good, with 413, what even an idle queue cannot take", async () => {
    const response = await post({}, "/verify", { problem, completions: Array(7).fill("x") });
    expect(response.status).toBe(413);
    expect(response.headers.has("retry-after")).toBe(false);
    expect(await response.text()).toMatch(/at most 6 completions.*got 7.*--queue/);
  });

  test("answers 504 when no sandbox is free by the deadline", async () => {
    const verify = () => new Promise<VerifyResult>(() => {});
    const { app } = createApp(partsOf({ verify, options: { concurrency: 1 } }), null);
    const send = () =>
      app.request("/verify", {
        method: "POST",
        body: JSON.stringify({ problem, completion: "x", options: { deadline_ms: 10 } }),
      });
    void send();
    expect((await send()).status).toBe(504);
  });

  test.each([
    ["not JSON", "{", /expected JSON/],
    ["an unknown key", { problem, completion: "x", extra: 1 }, /extra/],
    ["no completion", { problem }, /exactly one/],
    ["a wrong type", { problem, completion: 5 }, /body\.completion/],
    ["deep JSON", "[".repeat(200_000), /body/],
    [
      "a time limit beyond all programs",
      { problem: { ...problem, limits: { timeMs: Number.MAX_SAFE_INTEGER } }, completion: "x" },
      /body\.problem\.limits\.timeMs/,
    ],
  ])("answers 422 to %s and says where", async (_, body, message) => {
    const response = await post({}, "/verify", body);
    expect(response.status).toBe(422);
    expect(await response.text()).toMatch(message);
  });

  test("answers 413 to a body over the limit", async () => {
    const response = await post({}, "/verify", { problem, completion: "x".repeat(2 ** 20) });
    expect(response.status).toBe(413);
  });
});

describe("POST /run_code", () => {
  const run = (end: ProgramOutcome["end"]) => async () => [{ ...outcome, end }];

  test("takes null fields, unknown fields, aliases and no language", async () => {
    const jobs: ProgramJob[] = [];
    const fakes = {
      run: async (job: ProgramJob) => {
        jobs.push(job);
        return [outcome];
      },
    };
    const body = { code: "print(3)", stdin: null, memory_limit_MB: null, files: {}, novel: 1 };
    expect((await post(fakes, "/run_code", body)).status).toBe(200);
    await post(fakes, "/run_code", {
      ...body,
      language: "c++",
      run_timeout: 2,
      memory_limit_MB: 64,
    });
    expect(jobs[0]).toMatchObject({ language: "python", limits: { wallMs: 10_000 } });
    expect(jobs[1]).toMatchObject({
      language: "cpp",
      limits: { wallMs: 2000, memoryBytes: 64 * 2 ** 20 },
    });
  });

  test.each([
    [
      { kind: "exited", exitCode: 0 },
      "Success",
      { status: "Finished", return_code: 0, stdout: "3\n" },
    ],
    [{ kind: "exited", exitCode: 1 }, "Failed", { status: "Finished", return_code: 1 }],
    [{ kind: "signaled", signal: "SIGSEGV" }, "Failed", { status: "Finished", return_code: -1 }],
    [
      { kind: "time_limit", clock: "cpu" },
      "Failed",
      { status: "TimeLimitExceeded", return_code: null },
    ],
    [{ kind: "memory_limit" }, "Failed", { status: "Finished", return_code: -9 }],
    [{ kind: "output_limit" }, "Failed", { status: "Finished", return_code: -9 }],
  ] as const)("%j answers %s", async (end, status, result) => {
    const answer = await (await post({ run: run(end) }, "/run_code", { code: "x" })).json();
    expect(answer).toMatchObject({ status, run_result: result, compile_result: null });
  });

  test.each([
    ["memory_limit_MB", 1e15],
    ["run_timeout", 1e300],
    ["run_timeout", 3601],
    ["compile_timeout", 1e300],
  ])("%s %d is refused by its name", async (field, value) => {
    const response = await post({}, "/run_code", { code: "x", [field]: value });
    expect(response.status).toBe(422);
    expect(await response.text()).toContain(`body.${field}`);
  });

  test("rounds a share of a megabyte up to bytes", async () => {
    const limits: ProgramJob["limits"][] = [];
    const run = async (job: ProgramJob) => {
      limits.push(job.limits);
      return [outcome];
    };
    await post({ run }, "/run_code", { code: "x", memory_limit_MB: 512.3 });
    expect(limits[0].memoryBytes).toBe(Math.ceil(512.3 * 2 ** 20));
  });

  test("a compile error stands in compile_result, with no run", async () => {
    const answer = await (
      await post({ run: run({ kind: "compile_error" }) }, "/run_code", { code: "x" })
    ).json();
    expect(answer).toMatchObject({
      status: "Failed",
      run_result: null,
      compile_result: { return_code: 1 },
    });
  });

  test("our own failure is SandboxError with a message, at HTTP 200", async () => {
    const failing = () => Promise.reject(new SandboxError("no go on this machine"));
    const response = await post({ run: failing }, "/run_code", { code: "x", language: "go" });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: "SandboxError", message: /no go/ });
  });

  test("files with content are refused in words", async () => {
    const response = await post({}, "/run_code", { code: "x", files: { "a.txt": "aGk=" } });
    expect(await response.json()).toMatchObject({ status: "SandboxError", message: /a\.txt/ });
  });
});

describe("guards", () => {
  test("without the token every route but /healthz is 401", async () => {
    const fakes = { options: { token: "secret" } };
    const body = { problem, completion: "x" };
    expect((await post(fakes, "/verify", body)).status).toBe(401);
    expect((await post(fakes, "/verify", body, { authorization: "Bearer wrong" })).status).toBe(
      401,
    );
    expect((await post(fakes, "/verify", body, { authorization: "Bearer secret" })).status).toBe(
      200,
    );
    const { app } = createApp(partsOf(fakes), "127.0.0.1");
    const health = await app.request("http://127.0.0.1/healthz", {
      headers: { host: "localhost" },
    });
    expect(health.status).toBe(200);
  });

  test("a browser runs code only with the page's token, whatever page it shows", async () => {
    const body = { problem, completion: "x" };
    const fakes = { options: { pageToken: "page" } };
    const origin = { origin: "http://127.0.0.1:8000" };
    expect((await post(fakes, "/verify", body, origin)).status).toBe(401);
    const authorization = "Bearer page";
    expect((await post(fakes, "/verify", body, { ...origin, authorization })).status).toBe(200);
    expect((await post(fakes, "/verify", body)).status).toBe(200);
  });

  describe("with a token set, the page's token", () => {
    const fakes = { options: { token: "secret", pageToken: "page" } };
    const authorization = "Bearer page";
    const origin = "http://node1:8710";
    const ask = (path: string, headers: Record<string, string>) => {
      const { app } = createApp(partsOf(fakes), "0.0.0.0");
      app.get("/api/runs", (c) => c.json({ runs: [] }));
      return app.request(`http://node1:8710${path}`, {
        headers: { host: "node1:8710", ...headers },
      });
    };

    test("opens what the dashboard reads", async () => {
      expect((await ask("/api/runs", { authorization })).status).toBe(200);
      const refused = await ask("/api/runs", { authorization: "Bearer wrong" });
      expect(refused.status).toBe(401);
      expect(await refused.text()).toMatch(/printed with its address/);
    });

    test("judges for the page, and not for another trainer", async () => {
      const body = { problem, completion: "x" };
      expect((await post(fakes, "/verify", body, { authorization, origin })).status).toBe(200);
      expect((await post(fakes, "/verify", body, { authorization })).status).toBe(401);
      for (const path of ["/reward", "/run_code"]) {
        expect((await post(fakes, path, body, { authorization, origin })).status).toBe(401);
      }
      expect((await ask("/metrics", { authorization, origin })).status).toBe(401);
    });
  });

  test("on loopback a foreign Host header is refused", async () => {
    const response = await post({}, "/verify", {}, { host: "evil.example:80" });
    expect(response.status).toBe(403);
  });

  test("listening beyond loopback without a token is refused before it listens", async () => {
    await expect(startService(partsOf({}), { host: "0.0.0.0", port: 0 })).rejects.toThrow(/token/);
  });
});

test("every route counts failures of our own machinery", async () => {
  const failing = () => Promise.reject(new SandboxError("server died"));
  const { app } = createApp(partsOf({ verify: failing, run: failing }), null);
  const truth = { inputs: ["1"], outputs: ["1"] };
  const requests: [string, object][] = [
    ["/verify", { problem, completion: "x" }],
    ["/reward", { data_source: "x", solution_str: "x", ground_truth: truth }],
    ["/run_code", { code: "x" }],
  ];
  for (const [path, body] of requests) {
    await app.request(path, { method: "POST", body: JSON.stringify(body) });
  }
  expect(await (await app.request("/metrics")).text()).toContain("rlvr_infra_errors_total 3");
});

describe("GET /api/runs", () => {
  const runs = mkdtempSync(join(tmpdir(), "rlvr-runs-"));
  mkdirSync(join(runs, "other-tool"));
  afterAll(() => rmSync(runs, { recursive: true }));
  const { app } = createApp(partsOf({}), null);
  mountRunRoutes(app, new RunStore(runs));

  test("answers 404 to a run that is not there, and 200 to a folder that is none", async () => {
    for (const path of ["nope", "nope/series", "nope/rollouts", "nope/stream"]) {
      const response = await app.request(`/api/runs/${path}`);
      expect({ path, status: response.status }).toEqual({ path, status: 404 });
      expect(await response.text()).toContain("there is no run nope");
    }
    const response = await app.request("/api/runs/other-tool");
    expect(await response.json()).toMatchObject({ info: null, problems: [expect.any(String)] });
  });
});

describe("a listening service", () => {
  let service: RunningService | null = null;
  afterEach(async () => {
    await service?.close();
    service = null;
  });
  const start = async (fakes: Fakes) => {
    service = await startService(partsOf(fakes), { host: "127.0.0.1", port: 0 });
    return service;
  };

  test("tells its state, its metrics and its own description", async () => {
    const { url } = await start({});
    await fetch(`${url}/verify`, {
      method: "POST",
      body: JSON.stringify({ problem, completion: "x" }),
    });
    expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({
      status: "ok",
      isolation: "basic",
      waiting: 0,
    });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain('rlvr_verdicts_total{verdict="accepted"} 1');
    expect(metrics).toContain('rlvr_request_seconds_count{route="/verify",status="200"} 1');
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object };
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining(["/verify", "/reward", "/run_code", "/healthz", "/metrics"]),
    );
  });

  test("/healthz tells by what it judges, where it was told so", async () => {
    const healthOf = async (options: Partial<ServiceOptions>) => {
      const { app } = createApp(partsOf({ options }), null);
      return healthSchema.parse(await (await app.request("http://x/healthz")).json());
    };
    const settings = judgingSettings(resolveConfig({}).config);
    expect((await healthOf({ settings })).settings).toEqual(settings);
    expect((await healthOf({})).settings).toBeNull();
  });

  test("stops the work of a client that hangs up", async () => {
    let aborted = () => {};
    const wasAborted = new Promise<void>((resolve) => (aborted = resolve));
    const { url } = await start({
      verify: ({ signal }) =>
        new Promise((_, reject) =>
          signal?.addEventListener("abort", () => {
            aborted();
            reject(new SandboxError("given up"));
          }),
        ),
    });
    const leaving = new AbortController();
    const answer = fetch(`${url}/verify`, {
      method: "POST",
      body: JSON.stringify({ problem, completion: "x" }),
      signal: leaving.signal,
    }).catch(() => "gone");
    setTimeout(() => leaving.abort(), 50);
    expect(await answer).toBe("gone");
    await wasAborted;
  });

  test("survives half a body, and serves the next client", async () => {
    const { url } = await start({});
    const { port } = new URL(url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.write("POST /verify HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000\r\n\r\n{");
    await new Promise((resolve) => setTimeout(resolve, 30));
    socket.destroy();
    const next = await fetch(`${url}/healthz`);
    expect(next.status).toBe(200);
  });

  test("a client that does not finish its body in time is sent away", async () => {
    const { url } = await start({ options: { bodyTimeoutMs: 200 } });
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    // The drip goes on for a moment after the service hung up.
    socket.on("error", () => {});
    socket.write("POST /verify HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000\r\n\r\n{");
    const drip = setInterval(() => socket.write(" "), 100);
    const answer = await new Promise<string>((resolve) =>
      socket.once("data", (chunk: Buffer) => resolve(chunk.toString())),
    );
    clearInterval(drip);
    socket.destroy();
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
  });

  test("finishes what it accepted before it closes", async () => {
    let end = () => {};
    const { url, close } = await start({
      verify: (request) => new Promise((resolve) => (end = () => resolve(resultOf(request)))),
    });
    const answer = fetch(`${url}/verify`, {
      method: "POST",
      body: JSON.stringify({ problem, completion: "x" }),
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    const closed = close();
    service = null;
    end();
    expect((await answer).status).toBe(200);
    await closed;
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

  test("says so when the address is taken", async () => {
    const { url } = await start({});
    const port = Number(new URL(url).port);
    await expect(startService(partsOf({}), { host: "127.0.0.1", port })).rejects.toThrow(
      /cannot listen/,
    );
  });

  test("listens on a Unix socket", async () => {
    const socket = `/tmp/rlvr-test-${process.pid}.sock`;
    service = await startService(partsOf({}), { socket });
    const status = await new Promise((resolve, reject) => {
      request({ socketPath: socket, path: "/healthz" }, (response) => resolve(response.statusCode))
        .on("error", reject)
        .end();
    });
    expect(status).toBe(200);
  });
});
