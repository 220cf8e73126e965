/**
 * The parameters of a model: every tensor a view of one flat array, by its Hugging Face name.
 *
 * One array means that the optimizer is a loop, a copy is a memcpy, and the runtime reads and writes
 * the very memory that training changes.
 */
import { ShapeError } from "../core/errors.js";
import type { RandomStream } from "../core/random.js";
import { type ModelConfig, parameterShapes } from "./config.js";

/** Named tensors in one array, in the order of their names. */
export class Parameters {
  readonly names: readonly string[];
  readonly data: Float32Array;
  readonly #places: ReadonlyMap<string, { start: number; end: number; shape: readonly number[] }>;

  /** @throws {ShapeError} if `data` is given and has another length than the shapes need. */
  constructor(shapes: ReadonlyMap<string, readonly number[]>, data?: Float32Array) {
    const places = new Map<string, { start: number; end: number; shape: readonly number[] }>();
    let end = 0;
    for (const [name, shape] of shapes) {
      const start = end;
      end += shape.reduce((product, size) => product * size, 1);
      places.set(name, { start, end, shape });
    }
    if (data !== undefined && data.length !== end) {
      throw new ShapeError(`the parameters need ${end} numbers, got ${data.length}`);
    }
    this.#places = places;
    this.names = [...places.keys()];
    this.data = data ?? new Float32Array(end);
  }

  has(name: string): boolean {
    return this.#places.has(name);
  }

  shape(name: string): readonly number[] {
    return this.#place(name).shape;
  }

  /** The tensor's part of `data`, or of another array laid out alike, such as the gradients. */
  view(name: string, data: Float32Array = this.data): Float32Array {
    const { start, end } = this.#place(name);
    return data.subarray(start, end);
  }

  /** The same tensors in memory of their own. */
  clone(): Parameters {
    return new Parameters(this.shapes(), this.data.slice());
  }

  shapes(): Map<string, readonly number[]> {
    return new Map([...this.#places].map(([name, { shape }]) => [name, shape]));
  }

  #place(name: string) {
    const place = this.#places.get(name);
    if (place === undefined) throw new ShapeError(`the model has no parameter ${name}`);
    return place;
  }
}

/** What a graph needs to know of parameters: names and shapes. */
export type ParameterShapes = Pick<Parameters, "names" | "shape" | "has">;

/** Parameters without memory, for looking at a graph before a model is read. */
export function shapesOnly(shapes: ReadonlyMap<string, readonly number[]>): ParameterShapes {
  return {
    names: [...shapes.keys()],
    has: (name) => shapes.has(name),
    shape: (name) => {
      const shape = shapes.get(name);
      if (shape === undefined) throw new ShapeError(`the model has no parameter ${name}`);
      return shape;
    },
  };
}

/**
 * Parameters of a model that has learned nothing: norms 1, biases 0, weights normal with standard
 * deviation `deviation` (transformers' `initializer_range`), drawn in the order of the names.
 */
export function initialParameters(
  config: ModelConfig,
  stream: RandomStream,
  deviation = 0.02,
): Parameters {
  const parameters = new Parameters(parameterShapes(config));
  for (const name of parameters.names) {
    const view = parameters.view(name);
    if (name.endsWith("norm.weight")) view.fill(1);
    else if (!name.endsWith(".bias")) {
      for (let i = 0; i < view.length; i++) view[i] = deviation * stream.normal();
    }
  }
  return parameters;
}
