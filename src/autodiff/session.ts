/**
 * Compiled graphs: a model handed to ONNX Runtime, run on typed arrays, and given back at the end.
 *
 * Arrays go in and come out without a copy: an input is read where it lies, and an output is
 * written into the array that the caller names.
 */
import * as ort from "onnxruntime-node";
import { ShapeError } from "../core/errors.js";
import { emitModel } from "./emit.js";
import type { DType, GraphContent, Tensor } from "./value.js";

/** How a graph is compiled. */
export interface CompileOptions {
  /** Threads that one operation may use. */
  threads: number;
  /**
   * Keep memory between runs. Training and generation are a quarter to a third faster with it; a
   * forward pass is not, and shapes that change from run to run would make the kept memory grow.
   */
  arena: boolean;
  /** Threads wait asleep, or spin for 50 µs first, which pays where operations are that short. */
  threadsWait?: "asleep" | "briefly";
  /** Run equal nodes each on its own, as gradient checkpointing needs; else they are merged. */
  keepCopies?: boolean;
}

/** A float32 tensor over `data`, which is not copied; one dimension when no shape is given. */
export function floatTensor(data: Float32Array, shape: readonly number[] = [data.length]): Tensor {
  return { dtype: "f32", shape, data };
}

/** A float32 tensor without dimensions. */
export function scalarTensor(value: number): Tensor {
  return { dtype: "f32", shape: [], data: Float32Array.of(value) };
}

/** An int64 tensor over `data`; one dimension when no shape is given. */
export function integerTensor(
  data: BigInt64Array,
  shape: readonly number[] = [data.length],
): Tensor {
  return { dtype: "i64", shape, data };
}

/** A tensor the runtime has seen; made once for arrays that are fed again and again. */
const runtimeTensors = new WeakMap<Tensor, ort.Tensor>();
const RUNTIME_TYPES = { f32: "float32", i64: "int64", bool: "bool" } as const;
const TYPES: Partial<Record<string, DType>> = { float32: "f32", int64: "i64", bool: "bool" };

function toRuntime(tensor: Tensor): ort.Tensor {
  const known = runtimeTensors.get(tensor);
  if (known !== undefined) return known;
  const type = RUNTIME_TYPES[tensor.dtype];
  const made = new ort.Tensor(type, tensor.data as ort.Tensor.DataType, [...tensor.shape]);
  runtimeTensors.set(tensor, made as ort.Tensor);
  return made as ort.Tensor;
}

/** A graph ready to run. It holds native memory until it is disposed of. */
export class CompiledGraph {
  readonly #session: ort.InferenceSession;
  readonly #outputs: ReadonlyMap<string, readonly (number | string)[]>;

  /** @internal Made by `compile`. */
  constructor(session: ort.InferenceSession, graph: GraphContent) {
    this.#session = session;
    this.#outputs = new Map(graph.outputs.map(({ name, value }) => [name, value.shape]));
  }

  /**
   * Runs the graph once.
   *
   * @param feeds - A tensor for every input.
   * @param fetches - Which outputs to compute, and for each the array to write into (its shape must
   *   then be known in numbers), or null for one of its own.
   */
  async run(
    feeds: Readonly<Record<string, Tensor>>,
    fetches: Readonly<Record<string, Tensor | Float32Array | null>>,
  ): Promise<Record<string, Tensor>> {
    const inputs: Record<string, ort.Tensor> = {};
    for (const [name, tensor] of Object.entries(feeds)) inputs[name] = toRuntime(tensor);
    const wanted: Record<string, ort.Tensor | null> = {};
    for (const [name, target] of Object.entries(fetches)) {
      wanted[name] = target === null ? null : toRuntime(this.#target(name, target));
    }
    const results = await this.#session.run(inputs, wanted);
    return Object.fromEntries(
      Object.entries(results).map(([name, { type, dims, data }]) => {
        const dtype = TYPES[type] ?? "f32";
        return [name, { dtype, shape: dims, data: data as Tensor["data"] }];
      }),
    );
  }

  /** Gives the native memory back; the graph cannot run any more. */
  async dispose(): Promise<void> {
    await this.#session.release();
  }

  #target(name: string, target: Tensor | Float32Array): Tensor {
    if (!(target instanceof Float32Array)) return target;
    const shape = this.#outputs.get(name) ?? [];
    const sizes = shape.filter((dim) => typeof dim === "number");
    if (sizes.length < shape.length) {
      throw new ShapeError(`output ${name} has no fixed shape, so it needs a tensor or null`);
    }
    return floatTensor(target, sizes);
  }
}

/**
 * How threads wait for the next operation. One that spins for long would take the core from the
 * sandbox and from the other model.
 */
const SPINNING = {
  asleep: { allow_spinning: "0" },
  briefly: { allow_spinning: "1", spin_duration_us: "50" },
};

/** Compiles a graph for the CPU. */
export async function compile(
  graph: GraphContent,
  { threads, arena, keepCopies = false, threadsWait = "asleep" }: CompileOptions,
): Promise<CompiledGraph> {
  const session = await ort.InferenceSession.create(emitModel(graph), {
    executionProviders: ["cpu"],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: "sequential",
    enableCpuMemArena: arena,
    // A pattern is one block of memory for each combination of shapes seen, all of them kept.
    enableMemPattern: false,
    graphOptimizationLevel: "all",
    logSeverityLevel: 3,
    extra: {
      session: { intra_op: SPINNING[threadsWait], force_spinning_stop: "1" },
      ...(keepCopies && {
        optimization: { disable_specified_optimizers: "CommonSubexpressionElimination" },
      }),
    },
  });
  return new CompiledGraph(session, graph);
}
