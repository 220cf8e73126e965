/** The embedded engine's side: batching, stop texts, and draws that do not depend on either. */
import { describe, expect, test } from "vitest";
import type { Completion, CompletionRequest } from "../../src/eval/completer.js";
import { modelCompleter } from "../../src/eval/model-completer.js";

const END = 0;
/** One token a character; the template puts `<` and `>` around a message. */
const tokenizer = {
  encode: (text: string) => [...text].map((char) => char.codePointAt(0) ?? END),
  decode: (ids: readonly number[]) => String.fromCodePoint(...ids),
  applyChatTemplate: (messages: readonly { content: string }[]) =>
    [...messages.map(({ content }) => `<${content}>`).join("")].map(
      (char) => char.codePointAt(0) ?? END,
    ),
  eosTokenIds: [END],
};

/** Writes letters picked by the uniforms; `z` is followed by the end. */
class LetterSampler {
  readonly calls: { prompts: string[]; maxNewTokens: number }[] = [];

  generate(request: {
    prompts: readonly (readonly number[])[];
    maxNewTokens: number;
    uniforms: (sequence: number, position: number) => number;
  }) {
    const { prompts, maxNewTokens, uniforms } = request;
    this.calls.push({ prompts: prompts.map((ids) => tokenizer.decode(ids)), maxNewTokens });
    const results = prompts.map((prompt, sequence) => {
      const tokens: number[] = [];
      while (tokens.length < maxNewTokens) {
        const letter = 97 + Math.floor(26 * uniforms(sequence, tokens.length));
        tokens.push((tokens.at(-1) ?? prompt.at(-1)) === 122 ? END : letter);
        if (tokens.at(-1) === END) break;
      }
      const finish: "stop" | "length" = tokens.at(-1) === END ? "stop" : "length";
      return { tokens, finish, logprobs: new Float32Array(tokens.length) };
    });
    return Promise.resolve(results);
  }
}

const requestOf = (i: number, changes: Partial<CompletionRequest> = {}): CompletionRequest => ({
  problemId: `p${i}`,
  sample: 0,
  prompt: [{ role: "user", content: "x".repeat(1 + (i % 5)) }],
  kind: "chat",
  maxTokens: 20,
  temperature: 1,
  topP: 1,
  topK: null,
  stop: [],
  seed: 3,
  ...changes,
});

async function run(requests: CompletionRequest[], batchSize: number, chunkTokens = 7) {
  const sampler = new LetterSampler();
  const completer = modelCompleter({
    sampler,
    tokenizer,
    name: "letters",
    identity: "letters",
    batchSize,
    chunkTokens,
  });
  const completions: Completion[] = [];
  await completer.complete(
    requests,
    async (index, completion) => void (completions[index] = completion),
  );
  return { completions, calls: sampler.calls };
}

describe("modelCompleter", () => {
  const requests = Array.from({ length: 11 }, (_, i) => requestOf(i));

  test("gives each request the same completion whatever it is batched with", async () => {
    const alone = await run(requests, 1);
    const together = await run(requests, 4);
    expect(together.calls).toHaveLength(3);
    expect(together.completions).toEqual(alone.completions);
    expect(new Set(alone.completions.map(({ text }) => text)).size).toBe(11);
  });

  test("leaves the end token out of the text and tells how a completion ended", async () => {
    const { completions } = await run(requests, 4);
    for (const { text, finish, completionTokens } of completions) {
      expect(text).not.toContain("\0");
      expect(completionTokens).toBe(finish === "stop" ? text.length + 1 : 20);
      expect(text.endsWith("z")).toBe(finish === "stop");
    }
    expect(new Set(completions.map(({ finish }) => finish))).toEqual(new Set(["stop", "length"]));
  });

  test("with stop texts samples in pieces, and cuts what one piece would have given", async () => {
    const whole = await run(requests, 4);
    const stop = ["e", "qq"];
    const cut = await run(
      requests.map((request) => ({ ...request, stop })),
      4,
    );
    cut.completions.forEach(({ text, finish }, i) => {
      const at = whole.completions[i].text.search(/e|qq/);
      expect(text).toBe(
        at === -1 ? whole.completions[i].text : whole.completions[i].text.slice(0, at),
      );
      expect(finish).toBe(at === -1 ? whole.completions[i].finish : "stop");
    });
    expect(Math.max(...cut.calls.map(({ maxNewTokens }) => maxNewTokens))).toBe(7);
  });

  test("continues bare text and an answer that the prompt begins", async () => {
    const begun = requestOf(0, {
      prompt: [
        { role: "user", content: "u" },
        { role: "assistant", content: "abc" },
      ],
    });
    const { calls } = await run([requestOf(1, { kind: "completion" }), begun], 1);
    expect(calls.map(({ prompts }) => prompts[0])).toEqual(["xx", "<u>abc"]);
  });
});
