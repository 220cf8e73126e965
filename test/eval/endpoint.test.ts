/** Endpoints that fail in every way: each failure is counted as what it is, none is scored 0. */
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { CompletionRequest } from "../../src/eval/completer.js";
import {
  ENDPOINT_DEFAULTS,
  endpointCompleter,
  type EndpointOptions,
} from "../../src/eval/endpoint-completer.js";
import { evaluate } from "../../src/eval/evaluate.js";
import {
  answerChat,
  FakeEndpoint,
  FakeVerifier,
  type Handler,
  problemsOf,
  settingsOf,
} from "./fakes.js";

let endpoint: FakeEndpoint | null = null;
afterEach(() => endpoint?.close());

async function open(handler: Handler, changes: Partial<EndpointOptions> = {}) {
  endpoint = new FakeEndpoint(handler);
  const baseUrl = await endpoint.open();
  const options = { ...ENDPOINT_DEFAULTS, backoffMs: 1, concurrency: 2, model: "m", ...changes };
  return { server: endpoint, completer: endpointCompleter({ ...options, baseUrl }) };
}

async function run(handler: Handler, changes: Partial<EndpointOptions> = {}, problems = 4) {
  const { server, completer } = await open(handler, changes);
  const input = { completer, problems: problemsOf(problems), verifier: new FakeVerifier() };
  const { info, samples } = await evaluate({ ...input, settings: settingsOf() });
  return { info, samples, server };
}

const request: CompletionRequest = {
  problemId: "p",
  sample: 0,
  prompt: [{ role: "user", content: "hello" }],
  kind: "chat",
  maxTokens: 8,
  temperature: 0.5,
  topP: 0.9,
  topK: null,
  stop: [],
  seed: 1,
};

/** The first request fails by `fail`, all others are answered. */
const failsOnce = (fail: Handler): Handler => {
  return (asked, response) =>
    asked.count === 1 ? fail(asked, response) : answerChat(response, "right");
};

describe("an endpoint that fails once", () => {
  const status = (code: number, headers: Record<string, string> = {}): Handler => {
    return (_, response) => {
      response.writeHead(code, headers);
      response.end(JSON.stringify({ error: { message: `status ${code}` } }));
    };
  };
  const faults: [string, string, Handler][] = [
    ["429", "rate_limited", status(429)],
    ["429 with Retry-After", "rate_limited", status(429, { "retry-after": "0.05" })],
    ["500", "server_error", status(500)],
    ["503", "server_error", status(503)],
    ["half a JSON", "bad_body", (_, response) => response.end('{"choices": [{"mess')],
    ["a page of HTML", "bad_body", (_, response) => response.end("<html>502</html>")],
    ["an empty list of choices", "empty_choice", (_, response) => response.end('{"choices": []}')],
    ["a choice without text", "empty_choice", (_, response) => response.end('{"choices": [{}]}')],
    [
      "a choice that is empty and gives no reason",
      "empty_choice",
      (_, response) =>
        response.end('{"choices": [{"message": {"content": ""}, "finish_reason": null}]}'),
    ],
    ["a broken connection", "connection", (_, response) => response.destroy()],
    [
      "a connection cut in the middle of the answer",
      "connection",
      (_, response) => {
        response.writeHead(200, { "content-length": "1000" });
        response.write('{"choices"', () => response.destroy());
      },
    ],
    ["silence", "timeout", () => undefined],
  ];
  test.each(faults)("with %s is asked again and the fault counts as %s", async (_, kind, fail) => {
    const { info } = await run(failsOnce(fail), { timeoutMs: 150 });
    expect(info.faults).toEqual({ [kind]: 1 });
    expect(info).toMatchObject({ status: "complete", missing: 0, passAtK: { "1": 1 } });
  });
});

describe("an endpoint that says when to come back", () => {
  const waitFor = (seconds: number, status: number): Handler => {
    return (_, response) => response.writeHead(status, { "retry-after": `${seconds}` }).end();
  };

  test("at its limit of requests leaves no sample missing, however many there are", async () => {
    const slotMs = 40;
    let free = 0;
    const { info } = await run(
      (asked, response) => {
        const wait = free - Date.now();
        if (wait > 0) return waitFor(wait / 1000, 429)(asked, response);
        free = Date.now() + slotMs;
        answerChat(response, "right");
      },
      { concurrency: 8, backoffMs: slotMs },
      40,
    );
    expect(info).toMatchObject({ status: "complete", samples: 40 });
    expect(info.faults["gave_up"]).toBeUndefined();
  });

  test("at once is asked no sooner than after our own first pause", async () => {
    const start = Date.now();
    const { info, server } = await run(
      (asked, response) => {
        if (Date.now() - start < 300) waitFor(0, 503)(asked, response);
        else answerChat(response, "right");
      },
      { concurrency: 8, backoffMs: 100 },
      40,
    );
    expect(info).toMatchObject({ status: "complete", samples: 40 });
    expect(server.bodies.length).toBeLessThan(40 + 8 * 4);
  });

  test("in a month is not asked in a loop, and the evaluation ends", async () => {
    const { info, server } = await run(
      waitFor(2_592_000, 429),
      { patienceMs: 1000, concurrency: 1 },
      50,
    );
    expect(info).toMatchObject({ status: "incomplete", missing: 50 });
    expect(info.faults).toEqual({ rate_limited: 10, gave_up: 10 });
    expect(server.bodies.length).toBe(10);
  });

  test("again and again is given up when its pauses add up to our patience", async () => {
    const { info } = await run(waitFor(0.02, 503), { patienceMs: 100, concurrency: 1 }, 1);
    expect(info.faults).toEqual({ server_error: 6, gave_up: 1 });
  });
});

describe("an endpoint that keeps failing", () => {
  test("leaves the samples missing, scores nothing 0, and a later call completes", async () => {
    const outDir = await mkdtemp(join(tmpdir(), "eval-"));
    let isDown = true;
    const { server, completer } = await open(({ body }, response) => {
      const [{ content }] = body["messages"] as { content: string }[];
      if (isDown && content === "problem 2") response.writeHead(500).end();
      else answerChat(response, "right");
    });
    const input = {
      completer,
      problems: problemsOf(4),
      verifier: new FakeVerifier(),
      settings: settingsOf({ outDir }),
    };
    const first = await evaluate(input);
    expect(first.info).toMatchObject({
      status: "incomplete",
      missing: 1,
      samples: 3,
      passAtK: { "1": 1 },
      faults: { server_error: ENDPOINT_DEFAULTS.attempts, gave_up: 1 },
    });
    isDown = false;
    const asked = server.bodies.length;
    const second = await evaluate(input);
    expect(second.info).toMatchObject({ status: "complete", missing: 0, samples: 4 });
    expect(server.bodies.length).toBe(asked + 1);
    expect((await readFile(join(outDir, "results.jsonl"), "utf8")).split("\n")).toHaveLength(5);
  });

  test("is given up after ten requests in a row, not after all of them", async () => {
    const { info, server } = await run(
      (_, response) => response.writeHead(503).end(),
      { attempts: 2, concurrency: 1 },
      50,
    );
    expect(info).toMatchObject({ status: "incomplete", missing: 50, samples: 0 });
    expect(server.bodies.length).toBe(20);
  });

  test("with a wrong key or model ends the evaluation in words", async () => {
    const deny: Handler = (_, response) => {
      response.writeHead(401).end('{"error": {"message": "bad key"}}');
    };
    await expect(run(deny, { apiKey: "secret-key" })).rejects.toThrow(/HTTP 401: bad key/);
    await expect(run(deny, { apiKey: "secret-key" })).rejects.not.toThrow(/secret-key/);
  });

  test("with a request it refuses is not asked that again", async () => {
    const { info, server } = await run(({ count }, response) => {
      if (count === 1) response.writeHead(400).end('{"error": {"message": "too long"}}');
      else answerChat(response, "right");
    });
    expect(info).toMatchObject({ missing: 1, faults: { refused: 1 } });
    expect(server.bodies.length).toBe(4);
  });
});

test("a time limit of a month is not one of a millisecond", async () => {
  const slow: Handler = (_, response) => void setTimeout(() => answerChat(response, "right"), 50);
  const { info } = await run(slow, { timeoutMs: 1000 * 2_592_000 });
  expect(info).toMatchObject({ status: "complete", faults: {} });
});

describe("what the model itself did", () => {
  test("an answer cut off at the limit is judged and counted as truncated", async () => {
    const { info, samples } = await run((_, response) => answerChat(response, "wro", "length"));
    expect(info).toMatchObject({ status: "complete", truncated: 4, faults: {} });
    expect(samples[0]).toMatchObject({ finish: "length", verdict: "wrong_answer" });
  });

  test("an empty answer that ended by itself is a completion without a program", async () => {
    const { info } = await run((_, response) => answerChat(response, ""));
    expect(info).toMatchObject({ status: "complete", noProgram: 4, faults: {} });
  });

  test("an answer that was all thought and hit the limit is truncated, not a fault", async () => {
    const { info } = await run((_, response) => answerChat(response, null, "length"));
    expect(info).toMatchObject({ truncated: 4, noProgram: 4, faults: {} });
  });

  test("tokens are counted as the server tells them", async () => {
    const { info } = await run((_, response) => answerChat(response, "right"));
    expect(info.tokens).toEqual({ prompt: 28, completion: 44 });
  });
});

describe("what is sent", () => {
  test("never exceeds the concurrency, and Retry-After holds all requests back", async () => {
    const times: number[] = [];
    const { server, completer } = await open(
      ({ count }, response) => {
        times.push(Date.now());
        if (count === 1) response.writeHead(429, { "retry-after": "0.3" }).end();
        else setTimeout(() => answerChat(response, "right"), 5);
      },
      { concurrency: 3 },
    );
    const requests = Array.from({ length: 12 }, (_, sample) => ({ ...request, sample }));
    await completer.complete(requests, async () => undefined);
    expect(server.mostInFlight).toBeLessThanOrEqual(3);
    // Three start together, one of them is told to wait: nothing starts until its time has come.
    const [first, ...later] = times.toSorted((a, b) => a - b);
    expect(later.filter((time) => time - first > 40 && time - first < 280)).toEqual([]);
  });

  test("chat and completion requests carry what the style asks for", async () => {
    const { server, completer } = await open(
      ({ path }, response) => {
        if (path.endsWith("/chat/completions")) answerChat(response, "yes");
        else response.end('{"choices": [{"text": "one\\nSTOP two", "finish_reason": "length"}]}');
      },
      { apiKey: "k" },
    );
    const texts: string[] = [];
    const stop = ["\nSTOP", "B", "C", "D", "E"];
    await completer.complete([request], async (_, { text }) => void texts.push(text));
    await completer.complete(
      [{ ...request, kind: "completion", stop }],
      async (_, { text, finish }) => void texts.push(text, finish),
    );
    expect(texts).toEqual(["yes", "one", "stop"]);
    expect(server.headers[0].authorization).toBe("Bearer k");
    expect(server.bodies[0]).toMatchObject({
      model: "m",
      messages: request.prompt,
      max_tokens: 8,
      temperature: 0.5,
      top_p: 0.9,
    });
    expect(server.bodies[1]).toMatchObject({ prompt: "hello", stop: stop.slice(0, 4) });
  });

  test("further keys of the request are sent, and make it another model to the cache", async () => {
    const extraBody = { repeat_penalty: 1 };
    const { server, completer } = await open((_, response) => answerChat(response, "x"), {
      extraBody,
    });
    await completer.complete([request], async () => undefined);
    expect(server.bodies[0]).toMatchObject(extraBody);
    expect(completer.identity).toContain('#m {"repeat_penalty":1}');
  });

  test("further keys stand in the settings, in one order, and none that has a flag is taken", async () => {
    const { info } = await run((_, response) => answerChat(response, "right"), {
      extraBody: { repeat_penalty: 1, min_p: 0.1 },
    });
    expect(JSON.stringify(info.settings.extraBody)).toBe('{"min_p":0.1,"repeat_penalty":1}');
    const at = { ...ENDPOINT_DEFAULTS, model: "m", baseUrl: "http://x/v1" };
    for (const [key, flag] of [
      ["temperature", "--temperature"],
      ["top_p", "--top-p"],
      ["top_k", "--top-k"],
      ["max_tokens", "--max-tokens"],
      ["max_completion_tokens", "--max-tokens"],
      ["n", "--n"],
      ["seed", "--seed"],
      ["model", "--model"],
      ["stop", "--style"],
      ["messages", "--style"],
      ["prompt", "--style"],
      ["stream", "read whole"],
    ]) {
      const extraBody = { repeat_penalty: 1, [key]: 1 };
      expect(() => endpointCompleter({ ...at, extraBody })).toThrow(
        new RegExp(`--extra-body.*got ${key}: .*${flag}`),
      );
    }
  });

  test("a style that begins the answer is refused unless the endpoint can continue it", async () => {
    const begun = [...request.prompt, { role: "assistant" as const, content: "```python\n" }];
    const { completer } = await open((_, response) => answerChat(response, "x"));
    await expect(
      completer.complete([{ ...request, prompt: begun }], async () => undefined),
    ).rejects.toThrow("--prefill");
    await endpoint?.close();
    const able = await open((_, response) => answerChat(response, "x"), { canPrefill: true });
    await able.completer.complete([{ ...request, prompt: begun }], async () => undefined);
    expect(able.server.bodies[0]).toMatchObject({
      add_generation_prompt: false,
      continue_final_message: true,
    });
  });

  test.each(["localhost:8000", "ftp://x/v1", "http://x/v1/chat/completions"])(
    "the address %s is refused",
    (baseUrl) => {
      expect(() => endpointCompleter({ ...ENDPOINT_DEFAULTS, model: "m", baseUrl })).toThrow(
        baseUrl,
      );
    },
  );
});
