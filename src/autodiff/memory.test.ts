/** Peaks of small graphs, counted by hand. */
import { describe, expect, test } from "vitest";
import { gradients } from "./gradient.js";
import { Graph, type Value } from "./graph.js";
import { peakBytes } from "./memory.js";

/** Bytes of one value in these graphs: 10 rows of 4 float32. */
const ONE = 160;

function chain(build: (graph: Graph, x: Value) => Value): number {
  const graph = new Graph();
  graph.output(build(graph, graph.input("x", "f32", ["N", 4])), "y");
  return peakBytes(graph, { N: 10 });
}

describe("peakBytes", () => {
  test("counts neither inputs nor outputs", () => {
    expect(chain((graph, x) => graph.exp(x))).toBe(0);
  });

  test("lets an elementwise operation take the place of what it reads last", () => {
    expect(chain((graph, x) => graph.exp(graph.log(graph.exp(graph.exp(x)))))).toBe(ONE);
  });

  test("keeps what is read again until then", () => {
    const peak = chain((graph, x) => {
      const early = graph.softmax(x);
      const late = graph.softmax(graph.softmax(early));
      return graph.add(graph.softmax(late), early);
    });
    // early, and at each softmax its input and its output.
    expect(peak).toBe(3 * ONE);
  });

  test("leaves out what no output needs", () => {
    const peak = chain((graph, x) => {
      graph.softmax(graph.softmax(x));
      return graph.exp(x);
    });
    expect(peak).toBe(0);
  });

  test("finishes one output before it starts what only the next one needs", () => {
    const graph = new Graph();
    const x = graph.input("x", "f32", ["N", 4]);
    const branches = [1, 2, 3].map((factor) => graph.softmax(graph.scale(x, factor)));
    branches.forEach((branch, i) => graph.output(graph.softmax(branch), `y${i}`));
    expect(peakBytes(graph, { N: 10 })).toBe(2 * ONE);
  });

  test("refuses a graph with a size that it is not told", () => {
    const graph = new Graph();
    graph.output(graph.exp(graph.exp(graph.input("x", "f32", ["N"]))), "y");
    expect(() => peakBytes(graph, { M: 1 })).toThrow("size N is needed, got none");
  });
});

describe("gradients with checkpoints", () => {
  /** Eight layers of two softmaxes; checkpoints before each and after the last. */
  function layers(checkpointing: boolean): { graph: Graph; nodes: number } {
    const graph = new Graph();
    const x = graph.input("x", "f32", ["N", 4], { gradient: true });
    const stream = [graph.exp(x)];
    for (let layer = 0; layer < 8; layer++) {
      stream.push(graph.softmax(graph.softmax(stream[layer])));
    }
    const loss = graph.reduceSum(graph.mul(stream[8], stream[8]));
    const checkpoints = checkpointing ? stream : [];
    graph.output(gradients(graph, loss, [x], { checkpoints })[0], "gradient");
    return { graph, nodes: graph.nodes.length };
  }

  test("keep one value a layer instead of two", () => {
    const [kept, again] = [layers(false), layers(true)].map(({ graph }) =>
      peakBytes(graph, { N: 1000 }),
    );
    // 16 softmaxes against 8, and what one layer's gradient needs.
    expect(kept - again).toBeGreaterThanOrEqual(4 * 16_000);
    expect(layers(true).nodes).toBeGreaterThan(layers(false).nodes);
  });
});
