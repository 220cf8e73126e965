import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { largestDifference, readGolden } from "../../test/model-fixtures.js";
import { writeFloatTensors } from "../formats/safetensors.js";
import { mergeCheckpoint, type MergeOptions } from "./merge.js";

const WIDTH = 4;
const VOCABULARY = 6;
const [Q0, Q1, V1] = ["0.self_attn.q_proj", "1.self_attn.q_proj", "1.self_attn.v_proj"].map(
  (name) => `model.layers.${name}`,
);

let dir = "";
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), "merge-adapter-"))));
afterEach(() => rm(dir, { recursive: true }));

type Tensors = Record<string, { shape: number[]; data: number[] }>;

/** A matrix without symmetry, so that a transposed or shifted product shows. */
const matrix = (rows: number, columns: number, seed: number) => ({
  shape: [rows, columns],
  data: Array.from({ length: rows * columns }, (_, i) => ((i * 7 + seed * 5) % 11) / 4 - 1),
});

const BASE: Tensors = {
  "model.embed_tokens.weight": matrix(VOCABULARY, WIDTH, 1),
  [`${Q0}.weight`]: matrix(WIDTH, WIDTH, 2),
  [`${Q1}.weight`]: matrix(WIDTH, WIDTH, 3),
  [`${V1}.weight`]: matrix(2, WIDTH, 4),
  [`${V1}.bias`]: { shape: [2], data: [0.5, -0.5] },
  "lm_head.weight": matrix(VOCABULARY, WIDTH, 5),
};

const factors = (module: string, rank: number): Tensors => ({
  [`base_model.model.${module}.lora_A.weight`]: matrix(rank, WIDTH, 6),
  [`base_model.model.${module}.lora_B.weight`]: matrix(BASE[`${module}.weight`].shape[0], rank, 8),
});

async function save(name: string, stem: string, tensors: Tensors): Promise<string> {
  await mkdir(join(dir, name), { recursive: true });
  const list = Object.entries(tensors).map(([key, { shape, data }]) => ({
    name: key,
    shape,
    data: Float32Array.from(data),
  }));
  await writeFloatTensors(join(dir, name, `${stem}.safetensors`), list, { dtype: "F32" });
  return join(dir, name);
}

const writeTo = async (folder: string, files: Record<string, string | object>) => {
  for (const [name, content] of Object.entries(files)) {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    await writeFile(join(folder, name), text);
  }
};

async function saveBase(changes: object = {}, tensors: Tensors = BASE): Promise<string> {
  const base = await save("base", "model", tensors);
  const config = { model_type: "other", vocab_size: VOCABULARY, ...changes };
  await writeTo(base, { "config.json": config });
  return base;
}

const PLAIN = { peft_type: "LORA", r: 4, lora_alpha: 8, target_modules: ["q_proj", "v_proj"] };

async function saveAdapter(changes: object, tensors: Tensors): Promise<string> {
  const adapter = await save("adapter", "adapter_model", tensors);
  await writeTo(adapter, { "adapter_config.json": { ...PLAIN, ...changes } });
  return adapter;
}

const merge = (changes: Partial<MergeOptions> = {}) =>
  mergeCheckpoint({
    checkpoint: join(dir, "adapter"),
    out: join(dir, "out"),
    dtype: "keep",
    lora: "fuse",
    loraAlpha: null,
    maxShardBytes: 5e9,
    base: join(dir, "base"),
    reference: null,
    signal: null,
    onProgress: null,
    ...changes,
  });

const merged = () => readGolden(join(dir, "out", "model.safetensors"));
const jsonOf = async (name: string) =>
  JSON.parse(await readFile(join(dir, "out", name), "utf8")) as Record<string, unknown>;

/** W + s·B·A element by element. */
function fusedByHand(module: string, adapter: Tensors, scale: number): number[] {
  const [a, b] = ["A", "B"].map(
    (half) => adapter[`base_model.model.${module}.lora_${half}.weight`],
  );
  const rank = a.shape[0];
  return BASE[`${module}.weight`].data.map((weight, index) => {
    const [row, column] = [Math.floor(index / WIDTH), index % WIDTH];
    let sum = 0;
    for (let k = 0; k < rank; k++) sum += b.data[row * rank + k] * a.data[k * WIDTH + column];
    return weight + scale * sum;
  });
}

describe("the scale of an adapter", () => {
  // PEFT's update_layer: alpha / r, alpha / √r with use_rslora; patterns give r and alpha by module.
  const cases: [string, object, Record<string, { rank: number; scale: number }>][] = [
    ["alpha / r", {}, { [Q0]: { rank: 4, scale: 2 }, [V1]: { rank: 4, scale: 2 } }],
    [
      "alpha / √r with use_rslora",
      { use_rslora: true },
      { [Q0]: { rank: 4, scale: 4 }, [V1]: { rank: 4, scale: 4 } },
    ],
    [
      "alpha_pattern by the end of a name",
      { alpha_pattern: { q_proj: 32 } },
      { [Q0]: { rank: 4, scale: 8 }, [Q1]: { rank: 4, scale: 8 }, [V1]: { rank: 4, scale: 2 } },
    ],
    [
      "rank_pattern by the end of a name",
      { rank_pattern: { v_proj: 2 } },
      { [Q0]: { rank: 4, scale: 2 }, [V1]: { rank: 2, scale: 4 } },
    ],
    [
      "patterns that are expressions, the first match counting",
      { alpha_pattern: { "layers\\.1\\..*_proj": 4, q_proj: 16, "^model.layers.1.*": 99 } },
      { [Q0]: { rank: 4, scale: 4 }, [Q1]: { rank: 4, scale: 1 }, [V1]: { rank: 4, scale: 1 } },
    ],
    [
      "all of them together",
      { use_rslora: true, rank_pattern: { "1.self_attn.q_proj": 1 }, alpha_pattern: { v_proj: 6 } },
      { [Q0]: { rank: 4, scale: 4 }, [Q1]: { rank: 1, scale: 8 }, [V1]: { rank: 4, scale: 3 } },
    ],
    [
      "no pattern that is only a part of a name",
      { alpha_pattern: { proj: 32, "self_attn.q": 32 } },
      { [Q0]: { rank: 4, scale: 2 } },
    ],
  ];

  test.each(cases)("is %s", async (_, config, modules) => {
    const adapter = Object.assign(
      {},
      ...Object.entries(modules).map(([module, { rank }]) => factors(module, rank)),
    ) as Tensors;
    await saveBase();
    await saveAdapter(config, adapter);
    const { lora } = await merge();
    const weights = await merged();
    for (const [module, { scale }] of Object.entries(modules)) {
      const expected = fusedByHand(module, adapter, scale);
      const found = weights.get(`${module}.weight`)!;
      expect(largestDifference(Float32Array.from(expected), found)).toBeLessThan(1e-5);
    }
    const scales = new Set(Object.values(modules).map(({ scale }) => scale));
    expect(lora?.scales).toEqual([...scales].sort((a, b) => a - b));
  });

  test("is written for PEFT with the keys that it came from", async () => {
    const config = { use_rslora: true, rank_pattern: { v_proj: 2 }, alpha_pattern: { q_proj: 32 } };
    await saveBase();
    await saveAdapter(config, { ...factors(Q0, 4), ...factors(V1, 2) });
    await merge({ lora: "separate" });
    expect(await jsonOf("lora_adapter/adapter_config.json")).toMatchObject({
      ...{ peft_type: "LORA", r: 4, lora_alpha: 8, ...config },
      target_modules: [Q0, "v_proj"],
    });
    // What was written gives the same model again.
    await merge({ out: join(dir, "fused") });
    const again = { checkpoint: join(dir, "out", "lora_adapter"), base: join(dir, "out") };
    const { differences } = await merge({
      ...again,
      out: join(dir, "again"),
      reference: join(dir, "fused"),
    });
    expect(differences?.every((item) => item.kind === "compared" && item.largest === 0)).toBe(true);
  });

  test("takes alpha from the option and everything else from the file", async () => {
    await saveBase();
    await saveAdapter(
      { use_rslora: true, alpha_pattern: { v_proj: 2 } },
      {
        ...factors(Q0, 4),
        ...factors(V1, 4),
      },
    );
    expect((await merge({ loraAlpha: 20 })).lora?.scales).toEqual([1, 10]);
  });

  test("needs factors of the ranks that the file tells", async () => {
    await saveBase();
    await saveAdapter({ rank_pattern: { q_proj: 2 } }, factors(Q0, 4));
    await expect(merge()).rejects.toThrow(/records LoRA rank 2, its tensors have rank 4/);
  });

  test.each([
    [{ use_dora: true }, /use_dora is not supported/],
    [{ fan_in_fan_out: true }, /fan_in_fan_out is not supported/],
    [{ init_lora_weights: "pissa" }, /init_lora_weights .*changes the base weights/],
    [{ target_parameters: ["mlp.experts"] }, /target_parameters is not supported/],
    [{ peft_type: "LOHA" }, /peft_type is not supported/],
    [{ alpha_pattern: { "q_proj(": 3 } }, /alpha_pattern/],
  ])("is refused where it cannot be told: %j", async (config, message) => {
    await saveBase();
    await saveAdapter(config, factors(Q0, 4));
    await expect(merge()).rejects.toThrow(message);
    await expect(merge()).rejects.toMatchObject({ exitCode: 2 });
    expect((await readdir(dir)).sort()).toEqual(["adapter", "base"]);
  });
});

describe("tensors that an adapter holds whole", () => {
  const HEAD = matrix(VOCABULARY, WIDTH, 9);
  const BIAS = { shape: [2], data: [3, 4] };
  const whole = (name: string, tensor: Tensors[string]) => ({
    [`base_model.model.${name}`]: tensor,
  });

  test.each(["fuse", "separate"] as const)("replace the base's, %s", async (lora) => {
    await saveBase();
    await saveAdapter(
      { modules_to_save: ["lm_head"], bias: "lora_only" },
      {
        ...factors(Q0, 4),
        ...whole("lm_head.weight", HEAD),
        ...whole(`${V1}.base_layer.bias`, BIAS),
      },
    );
    await merge({ lora });
    const weights = await merged();
    expect([...weights.keys()].sort()).toEqual(Object.keys(BASE).sort());
    expect([...weights.get("lm_head.weight")!]).toEqual(HEAD.data);
    expect([...weights.get(`${V1}.bias`)!]).toEqual(BIAS.data);
    expect([...weights.get(`${V1}.weight`)!]).toEqual(BASE[`${V1}.weight`].data);
    const isFused = weights.get(`${Q0}.weight`)!.some((v, i) => v !== BASE[`${Q0}.weight`].data[i]);
    expect(isFused).toBe(lora === "fuse");
  });

  test("leave a tied head as the base's embeddings, as PEFT does", async () => {
    const tied = Object.entries(BASE).filter(([name]) => name !== "lm_head.weight");
    await saveBase({ tie_word_embeddings: true }, Object.fromEntries(tied));
    const embeddings = whole("model.embed_tokens.weight", HEAD);
    await saveAdapter({ modules_to_save: ["embed_tokens"] }, { ...factors(Q0, 4), ...embeddings });
    const { warnings } = await merge();
    const weights = await merged();
    expect([...weights.get("model.embed_tokens.weight")!]).toEqual(HEAD.data);
    const original = BASE["model.embed_tokens.weight"].data;
    expect([...weights.get("lm_head.weight")!]).toEqual(original);
    expect(warnings.join()).toMatch(/the two differ/);
    expect(await jsonOf("config.json")).toMatchObject({ tie_word_embeddings: false });
  });

  test("do not stand for a base model", async () => {
    const tensors = { ...factors(Q0, 4), ...whole("lm_head.weight", HEAD) };
    const adapter = await saveAdapter({ modules_to_save: ["lm_head"] }, tensors);
    await writeTo(adapter, { "config.json": { model_type: "other" } });
    await expect(merge({ base: null })).rejects.toThrow(/holds an adapter only; pass --base/);
  });
});

describe("the tokenizer beside an adapter", () => {
  const vocabulary = (tokens: number, added: object[] = []) => ({
    model: { vocab: Object.fromEntries(Array.from({ length: tokens }, (_, i) => [`t${i}`, i])) },
    added_tokens: added,
  });
  const namesOfOut = async () => (await readdir(join(dir, "out"))).sort();
  const textOf = (name: string) => readFile(join(dir, "out", name), "utf8");

  test("wins over the base's, file by file", async () => {
    const base = await saveBase();
    await writeTo(base, {
      ...{ "tokenizer.json": vocabulary(5), "tokenizer_config.json": { eos_token: "base" } },
      ...{ "generation_config.json": {}, "README.md": "base" },
    });
    const adapter = await saveAdapter({}, factors(Q0, 4));
    await writeTo(adapter, {
      ...{ "tokenizer_config.json": { eos_token: "own" }, "chat_template.jinja": "own" },
      ...{ "README.md": "own", "trainer_state.json": "{}" },
    });
    const { warnings } = await merge();
    expect(await jsonOf("tokenizer_config.json")).toEqual({ eos_token: "own" });
    expect(await textOf("chat_template.jinja")).toBe("own");
    expect(await jsonOf("tokenizer.json")).toEqual(vocabulary(5));
    expect(await textOf("README.md")).toBe("base");
    expect(await namesOfOut()).not.toContain("trainer_state.json");
    expect(await namesOfOut()).toContain("generation_config.json");
    expect(warnings.filter((text) => text.includes("tokenizer"))).toEqual([]);
  });

  test("takes away the base's vocabulary and template under other names", async () => {
    const base = await saveBase();
    await writeTo(base, {
      ...{ "vocab.json": { old: 0 }, "merges.txt": "", "added_tokens.json": { "<old>": 99 } },
      ...{ "special_tokens_map.json": {}, "chat_template.jinja": "base" },
    });
    const adapter = await saveAdapter({}, factors(Q0, 4));
    await writeTo(adapter, {
      "tokenizer.json": vocabulary(5),
      "tokenizer_config.json": { chat_template: "own" },
    });
    await merge();
    expect(await namesOfOut()).toEqual([
      ...["config.json", "merge.json", "model.safetensors"],
      ...["tokenizer.json", "tokenizer_config.json"],
    ]);
  });

  test.each([
    ["tokenizer.json", vocabulary(7), '"t6" (id 6)'],
    ["tokenizer.json", { model: { vocab: Array(7).fill(["t", 0]) } }, '"t" (id 6)'],
    ["tokenizer.json", vocabulary(5, [{ id: 6, content: "<pad>" }]), '"<pad>" (id 6)'],
    ["added_tokens.json", { "<pad>": 6 }, '"<pad>" (id 6)'],
    [
      "tokenizer_config.json",
      { added_tokens_decoder: { "6": { content: "<pad>" } } },
      '"<pad>" (id 6)',
    ],
  ])("is warned of where %s has more tokens than rows", async (name, content, token) => {
    await saveBase();
    const adapter = await saveAdapter({}, factors(Q0, 4));
    await writeTo(adapter, { [name]: content });
    const { warnings } = await merge();
    expect(warnings.join()).toContain(
      "has 7 tokens, but the embedding matrix has 6 rows: " + token,
    );
  });

  test("must be JSON", async () => {
    await saveBase();
    const adapter = await saveAdapter({}, factors(Q0, 4));
    await writeTo(adapter, { "tokenizer.json": "{" });
    await expect(merge()).rejects.toThrow(/tokenizer\.json: expected the JSON of a tokenizer/);
  });
});
