/** Area gguf: headers and tensors read, and the tensor that serves as output head. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readGgufHeader, readGgufTensors } from "../../../src/formats/gguf.js";
import { headTensor } from "../../../src/model/gguf-import.js";
import type { Case } from "../case.js";

interface ExpectedFile {
  data_start: number;
  tensors: Record<
    string,
    { type: string; shape_row_major: number[]; absolute_offset?: number; values: number[] }
  >;
}

/** Reads the case's file, or asks for its head. */
export async function run({ input, expected }: Case): Promise<string | null> {
  if ("tensors_present" in input) {
    const found = headTensor(new Set(input.tensors_present as string[]));
    const { use } = expected as { use: string };
    return found === use ? null : `expected ${use}, got ${found}`;
  }
  const dir = await mkdtemp(join(tmpdir(), "case-"));
  try {
    const path = join(dir, "case.gguf");
    await writeFile(path, Buffer.from(input.file_base64 as string, "base64"));
    return await check(path, expected as ExpectedFile);
  } finally {
    await rm(dir, { recursive: true });
  }
}

async function check(path: string, expected: ExpectedFile): Promise<string | null> {
  const { dataStart, tensors } = await readGgufHeader(path);
  if (dataStart !== expected.data_start) {
    return `expected data at ${expected.data_start}, got ${dataStart}`;
  }
  for (const [name, wanted] of Object.entries(expected.tensors)) {
    const tensor = tensors.get(name);
    if (tensor === undefined) return `tensor ${name} is missing`;
    const target = new Float32Array(tensor.shape.reduce((a, b) => a * b, 1));
    await readGgufTensors(path, [{ tensor, target }]);
    const found = {
      type: tensor.type,
      shape_row_major: tensor.shape,
      ...(wanted.absolute_offset === undefined ? {} : { absolute_offset: tensor.offset }),
      values: [...target],
    };
    if (JSON.stringify(found) !== JSON.stringify(wanted)) {
      return `expected ${JSON.stringify(wanted)}, got ${JSON.stringify(found)}`;
    }
  }
  return null;
}
