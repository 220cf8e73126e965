/**
 * ONNX models as bytes: the few protobuf messages that describe a graph, written by hand.
 *
 * Only what the engine emits is here: nodes, attributes, constants, typed inputs and outputs, and
 * graphs inside graphs (the body of a loop).
 * Source: onnx.proto (https://github.com/onnx/onnx, IR version 9); numbers are its field numbers.
 */

/** Element types by their TensorProto.DataType number. */
export const ONNX_TYPES = { f32: 1, i64: 7, bool: 9 } as const;

/** Name of an element type. */
export type OnnxType = keyof typeof ONNX_TYPES;

/** A constant: its type, its sizes, and its elements row-major. */
export interface OnnxTensor {
  dtype: OnnxType;
  shape: readonly number[];
  data: Float32Array | BigInt64Array | Uint8Array;
}

/** An attribute's value; a bare number is an integer, `float` marks the other kind. */
export type OnnxAttribute =
  | number
  | { float: number }
  | string
  | readonly number[]
  | { tensor: OnnxTensor }
  | { graph: OnnxGraph };

/** One node; an empty input name stands for an input left out. */
export interface OnnxNode {
  op: string;
  /** Empty for ONNX's own operators, `com.microsoft` for ONNX Runtime's. */
  domain: string;
  inputs: readonly string[];
  outputs: readonly string[];
  attributes: Readonly<Record<string, OnnxAttribute>>;
}

/** A named, typed input or output; a size given as text is known only when the model runs. */
export interface OnnxValue {
  name: string;
  dtype: OnnxType;
  shape: readonly (number | string)[];
}

/** A graph whose nodes stand in the order in which they can run. */
export interface OnnxGraph {
  name: string;
  nodes: readonly OnnxNode[];
  constants: ReadonlyMap<string, OnnxTensor>;
  inputs: readonly OnnxValue[];
  outputs: readonly OnnxValue[];
}

const OPSET = 20;
const IR_VERSION = 9;
/** AttributeProto.AttributeType. */
const KIND = { float: 1, int: 2, string: 3, tensor: 4, graph: 5, ints: 7 } as const;

/** Writes a model with one graph, for opset 20 and ONNX Runtime's own operators. */
export function encodeOnnxModel(graph: OnnxGraph): Uint8Array {
  return new Message()
    .integer(1, IR_VERSION)
    .text(2, "code-rlvr")
    .message(8, new Message().text(1, "").integer(2, OPSET))
    .message(8, new Message().text(1, "com.microsoft").integer(2, 1))
    .message(7, graphMessage(graph))
    .encode();
}

function graphMessage(graph: OnnxGraph): Message {
  const message = new Message();
  for (const node of graph.nodes) message.message(1, nodeMessage(node));
  message.text(2, graph.name);
  for (const [name, tensor] of graph.constants) message.message(5, tensorMessage(tensor, name));
  for (const value of graph.inputs) message.message(11, valueMessage(value));
  for (const value of graph.outputs) message.message(12, valueMessage(value));
  return message;
}

function nodeMessage({ op, domain, inputs, outputs, attributes }: OnnxNode): Message {
  const message = new Message();
  for (const name of inputs) message.text(1, name);
  for (const name of outputs) message.text(2, name);
  message.text(4, op);
  for (const [name, value] of Object.entries(attributes)) {
    message.message(5, attributeMessage(name, value));
  }
  if (domain !== "") message.text(7, domain);
  return message;
}

function attributeMessage(name: string, value: OnnxAttribute): Message {
  const message = new Message().text(1, name);
  if (typeof value === "number") return message.integer(3, value).integer(20, KIND.int);
  if (typeof value === "string") return message.text(4, value).integer(20, KIND.string);
  if ("float" in value) return message.float(2, value.float).integer(20, KIND.float);
  if ("tensor" in value) {
    return message.message(5, tensorMessage(value.tensor, "")).integer(20, KIND.tensor);
  }
  if ("graph" in value)
    return message.message(6, graphMessage(value.graph)).integer(20, KIND.graph);
  for (const item of value) message.integer(8, item);
  return message.integer(20, KIND.ints);
}

function tensorMessage({ dtype, shape, data }: OnnxTensor, name: string): Message {
  const message = new Message();
  for (const size of shape) message.integer(1, size);
  message.integer(2, ONNX_TYPES[dtype]);
  if (name !== "") message.text(8, name);
  return message.bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

function valueMessage({ name, dtype, shape }: OnnxValue): Message {
  const sizes = new Message();
  for (const size of shape) {
    const one = new Message();
    sizes.message(1, typeof size === "number" ? one.integer(1, size) : one.text(2, size));
  }
  const tensorType = new Message().integer(1, ONNX_TYPES[dtype]).message(2, sizes);
  return new Message().text(1, name).message(2, new Message().message(1, tensorType));
}

/** A protobuf message under construction. */
class Message {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  integer(field: number, value: number): this {
    return this.#tag(field, 0).#varint(value);
  }

  float(field: number, value: number): this {
    return this.#tag(field, 5).#push(new Uint8Array(Float32Array.of(value).buffer));
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#tag(field, 2).#varint(value.length).#push(value);
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value, "utf8"));
  }

  message(field: number, inner: Message): this {
    this.#tag(field, 2).#varint(inner.#length);
    for (const part of inner.#parts) this.#push(part);
    return this;
  }

  encode(): Uint8Array {
    const bytes = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }

  #tag(field: number, wireType: number): this {
    return this.#varint(field * 8 + wireType);
  }

  #varint(value: number): this {
    const bytes: number[] = [];
    // Negative numbers are 64-bit two's complement, so they need BigInt.
    let rest = BigInt.asUintN(64, BigInt(value));
    do {
      const low = Number(rest & 0x7fn);
      rest >>= 7n;
      bytes.push(rest === 0n ? low : low | 0x80);
    } while (rest !== 0n);
    return this.#push(Uint8Array.from(bytes));
  }

  #push(part: Uint8Array): this {
    this.#parts.push(part);
    this.#length += part.length;
    return this;
  }
}
