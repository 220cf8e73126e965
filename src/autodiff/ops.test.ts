/**
 * Every row of the table of operations: gradients against central differences, values against plain
 * loops for the rows that have no gradient. A row without an example fails.
 */
import { describe, expect, test } from "vitest";
import { randomStream } from "../core/random.js";
import { gradients } from "./gradient.js";
import { Graph, type Dim, type Tensor, type Value } from "./graph.js";
import { OPS } from "./ops.js";
import { compile, floatTensor, integerTensor } from "./session.js";
import type { Attributes, OpName } from "./value.js";

interface Example {
  op: OpName;
  /** Shapes of the float inputs; `B` is fed as 3. */
  shapes: Dim[][];
  /** Further inputs after the float ones. */
  fixed?: Tensor[];
  /** Which float inputs are constants to the operation. */
  constant?: number[];
  attributes?: Attributes;
  /** Range of the float inputs. */
  range?: [number, number];
  /** Checked with respect to input order [fixed…] first. */
  fixedFirst?: boolean;
}

const ids = (values: number[], shape = [values.length]) =>
  integerTensor(BigInt64Array.from(values.map(BigInt)), shape);
const flags = (values: number[], shape: number[]): Tensor => ({
  dtype: "bool",
  shape,
  data: Uint8Array.from(values),
});
/** A causal mask whose rows are repeated, [rows·times, rows]. */
const causal = (rows: number, times: number) =>
  floatTensor(
    Float32Array.from({ length: rows * times * rows }, (_, i) =>
      i % rows > Math.floor(i / rows / times) ? -1e9 : 0,
    ),
    [rows * times, rows],
  );
const product = { transA: false, transB: false, alpha: 1 };

const EXAMPLES: Example[] = [
  { op: "add", shapes: [["B", 4], [4]] },
  {
    op: "sub",
    shapes: [
      ["B", 4],
      ["B", 1],
    ],
  },
  { op: "mul", shapes: [["B", 4], []] },
  {
    op: "div",
    shapes: [
      ["B", 4],
      ["B", 1],
    ],
    range: [0.5, 2],
  },
  {
    op: "min",
    shapes: [
      ["B", 4],
      ["B", 4],
    ],
  },
  { op: "max", shapes: [["B", 4], [4]] },
  { op: "neg", shapes: [["B", 4]] },
  { op: "exp", shapes: [["B", 4]] },
  { op: "log", shapes: [["B", 4]], range: [0.5, 2] },
  { op: "sqrt", shapes: [["B", 4]], range: [0.5, 2] },
  { op: "sigmoid", shapes: [["B", 4]] },
  { op: "clip", shapes: [["B", 4]], attributes: { low: -0.35, high: 0.6 } },
  {
    op: "where",
    shapes: [[4], ["B", 4]],
    fixed: [flags([1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1], [3, 4])],
    fixedFirst: true,
  },
  { op: "reduceSum", shapes: [["B", 4, 2]], attributes: { axes: [1], keepDims: false } },
  { op: "reduceMean", shapes: [["B", 4, 2]], attributes: { axes: [0, 2], keepDims: true } },
  { op: "reduceMax", shapes: [["B", 4]], attributes: { axes: [1], keepDims: false } },
  { op: "expand", shapes: [["B", 1]], attributes: { shape: [2, "B", 4] } },
  { op: "reshape", shapes: [["B", 4]], attributes: { shape: [2, "2*B"] } },
  { op: "transpose", shapes: [["B", 4, 2]], attributes: { order: [2, 0, 1] } },
  {
    op: "concat",
    shapes: [
      ["B", 2],
      ["B", 3],
    ],
    attributes: { axis: 1 },
  },
  { op: "slice", shapes: [["B", 5]], attributes: { axis: 1, start: 1, end: 4 } },
  { op: "pad", shapes: [["B", 2]], attributes: { axis: 1, before: 1, after: 2 } },
  {
    op: "matmul",
    shapes: [
      ["B", 2, 4],
      [4, 5],
    ],
    attributes: product,
  },
  {
    op: "matmul",
    shapes: [
      ["B", 4, 2],
      ["B", 4, 5],
    ],
    attributes: { ...product, transA: true },
  },
  {
    op: "matmul",
    shapes: [
      [4, 2],
      ["B", 5, 4],
    ],
    attributes: { transA: true, transB: true, alpha: 0.5 },
  },
  { op: "gemm", shapes: [["B", 4], [5, 4], [5]], attributes: { ...product, transB: true } },
  {
    op: "gemm",
    shapes: [
      [4, "B"],
      [4, 5],
    ],
    attributes: { ...product, transA: true, alpha: 2 },
  },
  {
    op: "gemm",
    shapes: [
      [4, "B"],
      [5, 4],
    ],
    attributes: { transA: true, transB: true, alpha: 1 },
  },
  { op: "gatherRows", shapes: [[5, 2]], fixed: [ids([1, 4, 1, 0, 1, 3], [2, 3])] },
  {
    op: "gatherRows",
    shapes: [["B", 2]],
    fixed: [ids([2, 0])],
    attributes: { distinct: true },
  },
  {
    op: "scatterRows",
    shapes: [[2, 2]],
    fixed: [ids([4, 1])],
    fixedFirst: true,
    attributes: { rows: 5, distinct: true },
  },
  {
    op: "scatterRows",
    shapes: [[4, 2]],
    fixed: [ids([1, 3, 1, 0])],
    fixedFirst: true,
    attributes: { rows: 5 },
  },
  { op: "softmax", shapes: [["B", 4]] },
  { op: "logSoftmax", shapes: [["B", 4]] },
  { op: "tokenLogprob", shapes: [["B", 5]], fixed: [ids([4, 0, 2])] },
  { op: "entropy", shapes: [["B", 5]] },
  { op: "pickLast", shapes: [["B", 5]], fixed: [ids([4, 0, 2])] },
  { op: "rmsNorm", shapes: [["B", 6], [6]], attributes: { epsilon: 1e-6 } },
  {
    op: "rope",
    shapes: [
      ["B", 2, 8],
      [8, 2],
      [8, 2],
    ],
    constant: [1, 2],
    fixed: [ids([0, 1, 3, 2, 5, 7], [3, 2])],
  },
  {
    op: "attention",
    shapes: [
      ["B", 2, 3, 4],
      ["B", 2, 5, 4],
      ["B", 2, 5, 4],
      [3, 5],
    ],
    constant: [3],
    attributes: { scale: 0.5, blocks: 1 },
  },
  ...[1, 5, 8].map((rows): Example => ({
    op: "attention",
    shapes: [
      ["B", 2, 2 * rows, 4],
      ["B", 2, rows, 4],
      ["B", 2, rows, 4],
    ],
    fixed: [causal(rows, 2)],
    attributes: { scale: 0.5, blocks: 4 },
  })),
  {
    op: "swiglu",
    shapes: [
      ["B", 4],
      ["B", 4],
    ],
  },
];

/** scatterToken takes floats on both sides of its ids, and rope ids in the middle. */
const ORDERS: Partial<Record<OpName, number[]>> = { scatterToken: [0, 2, 1], rope: [0, 3, 1, 2] };
EXAMPLES.push({ op: "scatterToken", shapes: [["B", 4], ["B"]], fixed: [ids([1, 3, 0])] });

const B = 3;
const sizes = (shape: readonly Dim[]) => shape.map((dim) => (dim === "B" ? B : (dim as number)));

/** A graph whose loss is a weighted sum of all outputs, and its float inputs with their data. */
function build(example: Example) {
  const stream = randomStream("finite differences", example.op, JSON.stringify(example.attributes));
  const [low, high] = example.range ?? [-1, 1];
  const graph = new Graph();
  const feeds: Record<string, Tensor> = {};
  const floats = example.shapes.map((shape, i) => {
    const data = Float32Array.from(
      { length: sizes(shape).reduce((a, b) => a * b, 1) },
      () => low + (high - low) * stream.next(),
    );
    feeds[`x${i}`] = floatTensor(data, sizes(shape));
    const gradient = example.constant?.includes(i) !== true;
    return graph.input(`x${i}`, "f32", shape, { gradient });
  });
  const fixed = (example.fixed ?? []).map((tensor, i) => {
    feeds[`fixed${i}`] = tensor;
    const shape = tensor.shape.map((size) => (size === B ? "B" : size));
    return graph.input(`fixed${i}`, tensor.dtype, shape);
  });
  const plain = example.fixedFirst === true ? [...fixed, ...floats] : [...floats, ...fixed];
  const order = ORDERS[example.op] ?? plain.map((_, i) => i);
  const [first] = graph.applyAll(
    example.op,
    order.map((i) => plain[i]),
    example.attributes,
  );
  const weights = graph.input("weights", "f32", first.shape);
  const count = runtimeSize(first.shape);
  feeds.weights = floatTensor(
    Float32Array.from({ length: count }, () => stream.normal()),
    runtimeShape(first.shape),
  );
  const loss = graph.reduceSum(graph.mul(first, weights));
  return { graph, loss, feeds, wrt: floats.filter(({ gradient }) => gradient) };
}

const runtimeShape = (shape: readonly Dim[]) =>
  shape.map((dim) =>
    String(dim)
      .split("*")
      .reduce((size, part) => size * (part === "B" ? B : Number(part)), 1),
  );
const runtimeSize = (shape: readonly Dim[]) => runtimeShape(shape).reduce((a, b) => a * b, 1);

async function largestError({ graph, loss, feeds, wrt }: ReturnType<typeof build>) {
  graph.output(loss, "loss");
  gradients(graph, loss, wrt).forEach((value, i) => graph.output(value, `gradient${i}`));
  const compiled = await compile(graph, { threads: 1, arena: true });
  const names = wrt.map((_, i) => `gradient${i}`);
  const found = await compiled.run(feeds, Object.fromEntries(names.map((name) => [name, null])));
  const lossAt = async () => Number((await compiled.run(feeds, { loss: null })).loss.data[0]);
  let worst = 0;
  for (const [i, value] of wrt.entries()) {
    const data = feeds[value.name].data as Float32Array;
    const analytic = found[`gradient${i}`].data as Float32Array;
    expect(analytic.length).toBe(data.length);
    for (let k = 0; k < data.length; k++) {
      worst = Math.max(worst, Math.abs(analytic[k] - (await centralDifference(data, k, lossAt))));
    }
  }
  await compiled.dispose();
  return worst;
}

/** Richardson's extrapolation of two central differences, whose error falls with step⁴. */
async function centralDifference(data: Float32Array, k: number, lossAt: () => Promise<number>) {
  const before = data[k];
  const at = async (step: number) => {
    data[k] = before + step;
    const loss = await lossAt();
    data[k] = before;
    return loss;
  };
  const slope = async (step: number) => ((await at(step)) - (await at(-step))) / (2 * step);
  const [fine, coarse] = [await slope(0.01), await slope(0.02)];
  return (4 * fine - coarse) / 3;
}

describe("the gradient of", () => {
  test.each(EXAMPLES)("$op $shapes $attributes is the limit of differences", async (example) => {
    expect(await largestError(build(example))).toBeLessThan(2e-3);
  });

  test("every operation that has one is checked above", () => {
    const checked = new Set(EXAMPLES.map(({ op }) => op));
    const unchecked = Object.entries(OPS).filter(
      ([name, rule]) => rule.gradient !== null && !checked.has(name as OpName),
    );
    expect(unchecked.map(([name]) => name)).toEqual([]);
  });
});

async function evaluate(outputs: (graph: Graph) => Value[], feeds: Record<string, Tensor> = {}) {
  const graph = new Graph();
  const values = outputs(graph);
  values.forEach((value, i) => graph.output(value, `y${i}`));
  const compiled = await compile(graph, { threads: 1, arena: true });
  const results = await compiled.run(
    feeds,
    Object.fromEntries(values.map((_, i) => [`y${i}`, null])),
  );
  await compiled.dispose();
  return values.map((_, i) => Array.from(results[`y${i}`].data, Number));
}

describe("an operation without a gradient", () => {
  const row = (graph: Graph, values: number[]) =>
    graph.constant("f32", [1, values.length], Float32Array.from(values));

  test.each([
    ["equal", [0, 1, 0]],
    ["less", [1, 0, 0]],
    ["lessOrEqual", [1, 1, 0]],
    ["greater", [0, 0, 1]],
    ["greaterOrEqual", [0, 1, 1]],
  ] as const)("compare %s answers by element", async (how, expected) => {
    const [found] = await evaluate((g) => [g.compare(how, row(g, [1, 2, 3]), row(g, [2, 2, 2]))]);
    expect(found).toEqual(expected);
  });

  test("logic combines flags", async () => {
    const flag = (g: Graph, values: number[]) => g.constant("bool", [4], Uint8Array.from(values));
    const found = await evaluate((g) =>
      (["and", "or"] as const).map((how) =>
        g.logic(how, flag(g, [0, 0, 1, 1]), flag(g, [0, 1, 0, 1])),
      ),
    );
    expect(found).toEqual([
      [0, 0, 0, 1],
      [0, 1, 1, 1],
    ]);
  });

  test("cast truncates to integers", async () => {
    expect(await evaluate((g) => [g.cast(row(g, [1.7, -1.7]), "i64")])).toEqual([[1, -1]]);
  });

  test("sizeOf multiplies sizes known when the graph runs", async () => {
    const found = await evaluate(
      (g) => {
        g.input("x", "f32", ["B", "T"]);
        return [g.apply("sizeOf", [], { dims: ["B", "T", 2] })];
      },
      { x: floatTensor(new Float32Array(15), [3, 5]) },
    );
    expect(found).toEqual([[30]]);
  });

  test("cumSum, argMax and topK look along the last axis", async () => {
    const found = await evaluate((g) => {
      const x = row(g, [3, 1, 4, 1, 5]);
      const sum = g.apply("cumSum", [x]);
      return [sum, g.apply("argMax", [x]), ...g.applyAll("topK", [x], { size: 2 })];
    });
    expect(found).toEqual([[3, 4, 8, 9, 14], [4], [5, 4], [4, 2]]);
  });

  test("loop carries states, stacks results and stops on its condition", async () => {
    const found = await evaluate((g) => {
      const body = new Graph(g);
      const round = body.input("round", "i64", []);
      body.input("running", "bool", []);
      const x = body.input("x", "i64", []);
      const next = body.apply("add", [x, round]);
      body.output(body.compare("less", next, body.integer(6)), "more");
      body.output(next, "next");
      body.output(x, "seen");
      return [
        ...g.applyAll(
          "loop",
          [g.integer(100), g.constant("bool", [], Uint8Array.of(1)), g.integer(0)],
          { body, states: 1, rounds: "N" },
        ),
      ];
    });
    expect(found).toEqual([[6], [0, 0, 1, 3]]);
  });
});
