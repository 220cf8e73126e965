/** Area safetensors: files read whole, or refused with a reason. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DataError } from "../../../src/core/errors.js";
import { readTensorValues } from "../../../src/formats/safetensors.js";
import { readSafetensorsHeader } from "../../../src/formats/safetensors-header.js";
import type { Case } from "../case.js";

interface ExpectedTensor {
  dtype: string;
  shape: number[];
  values: number[];
}

/** What a message must say for each kind of refusal. */
const REASONS: Record<string, RegExp> = {
  "invalid header": /the header is not JSON/,
  "incomplete data": /cut short|describes a file of/,
};

/** Writes the case's bytes to a file and reads it. */
export async function run({ input, expected }: Case): Promise<string | null> {
  const dir = await mkdtemp(join(tmpdir(), "case-"));
  try {
    const path = join(dir, "case.safetensors");
    await writeFile(path, Buffer.from(input.file_base64 as string, "base64"));
    return await check(
      path,
      expected as { error?: string; tensors?: Record<string, ExpectedTensor> },
    );
  } finally {
    await rm(dir, { recursive: true });
  }
}

async function check(
  path: string,
  expected: { error?: string; tensors?: Record<string, ExpectedTensor> },
): Promise<string | null> {
  const { error: kind, tensors = {} } = expected;
  let header;
  try {
    header = await readSafetensorsHeader(path);
  } catch (error) {
    if (!(error instanceof DataError)) return `not a clear error: ${String(error)}`;
    const reason = kind === undefined ? undefined : REASONS[kind];
    return reason?.test(error.message) ? null : `expected ${kind ?? "tensors"}: ${error.message}`;
  }
  if (kind !== undefined) return `expected the refusal ${kind}, got tensors`;
  for (const [name, wanted] of Object.entries(tensors)) {
    const tensor = header.tensors.get(name);
    if (tensor === undefined) return `tensor ${name} is missing`;
    const values = Array.from(await readTensorValues(path, tensor));
    const found = { dtype: tensor.dtype, shape: tensor.shape, values };
    if (JSON.stringify(found) !== JSON.stringify(wanted)) {
      return `expected ${JSON.stringify(wanted)}, got ${JSON.stringify(found)}`;
    }
  }
  return null;
}
