/** The service as a process of its own, with the real sandbox, under clients and signals gone bad. */
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createVerifier, type Verifier, type VerifyResult } from "../../src/verify/verify.js";
import {
  ADD,
  completionOf,
  descendants,
  serve,
  type ServeProcess,
  slowCompletion,
} from "./serve-process.js";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function health(url: string) {
  const answer = await fetch(`${url}/healthz`);
  return (await answer.json()) as { status: string; waiting: number; running: number };
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 30_000;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error("it did not come to pass within 30 s");
    await pause(50);
  }
}

const verify = (url: string, completion: string, signal?: AbortSignal) =>
  fetch(`${url}/verify`, {
    method: "POST",
    body: JSON.stringify({ problem: ADD, completion }),
    ...(signal === undefined ? {} : { signal }),
  });

/** Judges a row of completions and answers how many pass rates were wrong. */
async function countWrong(verifier: Verifier, count: number, from = 0): Promise<number> {
  const wrong = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const { completion, passRate } = completionOf(from + i);
      const result = await verifier.verify({ completion, problem: ADD });
      return Math.abs(result.passRate - passRate) > 1e-9;
    }),
  );
  return wrong.filter(Boolean).length;
}

/** Sends the head of a request and part of its body. */
async function halfRequest(url: string, length: number, part: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", () => resolve(undefined)));
  socket.write(
    `POST /verify HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${length}\r\n\r\n${part}`,
  );
  return socket;
}

/** Status of a request whose body is written in pieces; null when the connection broke first. */
function sendPieces(url: string, headers: Record<string, string>, pieces: number) {
  const piece = Buffer.alloc(2 ** 20, "a");
  return new Promise<number | null>((resolve) => {
    const sent = request(`${url}/verify`, { method: "POST", headers }, (response) => {
      resolve(response.statusCode ?? null);
      sent.destroy();
    });
    sent.on("error", () => resolve(null));
    // The service hangs up in the middle of the body, and after the answer the request no longer
    // hears what happens to pieces that are still on their way.
    sent.on("socket", (socket) => socket.on("error", () => resolve(null)));
    void (async () => {
      for (let i = 0; i < pieces && !sent.destroyed; i++) {
        if (!sent.write(piece)) await new Promise((next) => setTimeout(next, 5));
      }
      sent.end();
    })();
  });
}

describe("a service with the real sandbox", () => {
  let service: ServeProcess;
  let verifier: Verifier;

  beforeAll(async () => {
    service = await serve("--workers", "2", "--max-body", "4");
    verifier = await createVerifier({ url: service.url });
  });
  afterAll(async () => {
    await verifier?.close();
    expect(await service?.stop("SIGTERM")).toBe(0);
  });

  test("judges right, and says at which level", async () => {
    expect(await countWrong(verifier, 40)).toBe(0);
    expect(["basic", "full"]).toContain(verifier.level);
  });

  test("drops the work of clients that hang up, and serves the others", async () => {
    const leaving = new AbortController();
    const gone = Array.from({ length: 40 }, (_, i) =>
      verify(service.url, slowCompletion(i, 1000), leaving.signal).catch(() => "gone"),
    );
    await until(async () => (await health(service.url)).waiting >= 20);
    leaving.abort();
    expect(new Set(await Promise.all(gone))).toEqual(new Set(["gone"]));
    const start = Date.now();
    expect(await countWrong(verifier, 10, 1000)).toBe(0);
    // All forty would take a minute.
    expect(Date.now() - start).toBeLessThan(25_000);
    await until(async () => {
      const { waiting, running } = await health(service.url);
      return waiting + running === 0;
    });
  });

  test("one client that hangs up takes nothing from another with the same program", async () => {
    const leaving = new AbortController();
    const same = slowCompletion(77, 700);
    const first = verify(service.url, same, leaving.signal).catch(() => "gone");
    await until(async () => (await health(service.url)).running > 0);
    const second = verify(service.url, same);
    await until(async () => (await health(service.url)).running > 1);
    leaving.abort();
    expect(await first).toBe("gone");
    const answer = await second;
    expect(answer.status).toBe(200);
    expect(((await answer.json()) as VerifyResult).passRate).toBe(1);
  });

  test("half-sent bodies, then silence or hanging up, keep nobody else waiting", async () => {
    const sockets = await Promise.all(
      Array.from({ length: 200 }, () => halfRequest(service.url, 1000, '{"problem":')),
    );
    for (const socket of sockets.slice(0, 100)) socket.destroy();
    expect(await countWrong(verifier, 10, 2000)).toBe(0);
    for (const socket of sockets) socket.destroy();
  });

  test("a body of 100 MB is refused as 413, announced or not", async () => {
    const announced = { "content-length": String(100 * 2 ** 20) };
    expect([413, null]).toContain(await sendPieces(service.url, announced, 100));
    const chunked = { "transfer-encoding": "chunked" };
    expect([413, null]).toContain(await sendPieces(service.url, chunked, 100));
    // A client that waits for leave to send its body sees the status itself.
    const socket = await halfRequest(service.url, 100 * 2 ** 20, "");
    const [head] = await new Promise<Buffer[]>((resolve) =>
      socket.once("data", (chunk: Buffer) => resolve([chunk])),
    );
    expect(head.toString()).toMatch(/^HTTP\/1.1 413 /);
    socket.destroy();
    expect(await countWrong(verifier, 5, 3000)).toBe(0);
  });

  test.each(["", "{", '{"problem": NaN}', "[]", "\u0000", '"text"'])(
    "a body that is no request is 422: %j",
    async (body) => {
      for (const path of ["/verify", "/reward", "/run_code"]) {
        const answer = await fetch(service.url + path, { method: "POST", body });
        expect(answer.status).toBe(422);
        expect(await answer.json()).toMatchObject({ error: "bad_request" });
      }
    },
  );

  test("deep JSON is refused or a bad row, and breaks nothing", async () => {
    const deep = "[".repeat(1_000_000) + "]".repeat(1_000_000);
    const plain = await fetch(`${service.url}/verify`, { method: "POST", body: deep });
    expect(plain.status).toBe(422);
    const statusOf = async (truth: string) => {
      const body = `{"data_source":"apps","solution_str":"x","ground_truth":${truth}}`;
      const answer = await fetch(`${service.url}/reward`, { method: "POST", body });
      return [answer.status, ((await answer.json()) as { bad_problem: number }).bad_problem];
    };
    expect(await statusOf(deep)).toEqual([200, 1]);
    expect(await statusOf(JSON.stringify(deep))).toEqual([200, 1]);
    expect(await countWrong(verifier, 5, 4000)).toBe(0);
  });

  test("a language that is not here is an answer in words, not a failed program", async () => {
    const body = JSON.stringify({ code: "x", language: "lean" });
    const answer = await fetch(`${service.url}/run_code`, { method: "POST", body });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      status: "SandboxError",
      message: expect.stringContaining("lean"),
    });
    const unknown = JSON.stringify({ code: "x", language: "klingon" });
    const refused = await fetch(`${service.url}/run_code`, { method: "POST", body: unknown });
    expect(refused.status).toBe(422);
  });

  test("kill -9 of every sandbox process under load costs no verdict", async () => {
    const judging = countWrong(verifier, 100, 5000);
    const slow = Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        verifier.verify({ completion: slowCompletion(i, 300), problem: ADD }),
      ),
    );
    await until(async () => (await health(service.url)).running > 0);
    const killed = descendants(service.pid);
    expect(killed.length).toBeGreaterThan(0);
    for (const pid of killed) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // Ended with its server.
      }
    }
    expect(await judging).toBe(0);
    expect((await slow).map(({ passRate }) => passRate)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(await countWrong(verifier, 10, 6000)).toBe(0);
  });
});

describe("a service with a token and little room", () => {
  let service: ServeProcess;

  beforeAll(async () => {
    service = await serve("--workers", "1", "--token", "secret", "--queue", "2");
  });
  afterAll(async () => void (await service?.stop("SIGTERM")));

  test("a wrong or missing token is 401, at the client a ConfigError", async () => {
    expect((await verify(service.url, "x")).status).toBe(401);
    const verifier = await createVerifier({ url: service.url, token: "wrong" });
    const judging = verifier.verify({ completion: "x", problem: ADD });
    await expect(judging).rejects.toMatchObject({ name: "ConfigError" });
    await verifier.close();
  });

  test("what does not fit is 429 with Retry-After; a patient client gets all its verdicts", async () => {
    const raw = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        fetch(`${service.url}/verify`, {
          method: "POST",
          headers: { authorization: "Bearer secret" },
          body: JSON.stringify({ problem: ADD, completion: slowCompletion(i, 50) }),
        }),
      ),
    );
    const refused = raw.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every(({ headers }) => headers.get("retry-after") === "1")).toBe(true);
    expect(raw.every(({ status }) => status === 429 || status === 200)).toBe(true);
    const verifier = await createVerifier({ url: service.url, token: "secret" });
    expect(await countWrong(verifier, 20)).toBe(0);
    await verifier.close();
  });

  test("a client whose patience ends gets SandboxError, never a verdict", async () => {
    const verifier = await createVerifier({ url: service.url, token: "secret", timeoutMs: 300 });
    const judging = verifier.verify({ completion: slowCompletion(1, 2000), problem: ADD });
    await expect(judging).rejects.toMatchObject({ name: "SandboxError" });
    await verifier.close();
  });
});

describe("SIGTERM under load", () => {
  test("loses nothing accepted, refuses what is new, and ends with 0", async () => {
    const service = await serve("--workers", "2");
    let answered = 0;
    const answers = Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const response = await verify(service.url, slowCompletion(i, 30));
        answered++;
        return { status: response.status, result: (await response.json()) as VerifyResult };
      }),
    );
    // Answers are counted before the queue is read, so that none is counted in both.
    await until(async () => {
      const before = answered;
      const { waiting, running } = await health(service.url);
      return before + waiting + running === 60;
    });
    // On a connection opened before, as trainers keep them.
    const late = pause(100).then(() => verify(service.url, "x").then(({ status }) => status));
    const ended = service.stop("SIGTERM");
    expect((await answers).map(({ status }) => status)).toEqual(Array(60).fill(200));
    expect((await answers).every(({ result }) => result.passRate === 1)).toBe(true);
    expect(await late.catch(() => 503)).toBe(503);
    expect(await ended).toBe(0);
  });
});
