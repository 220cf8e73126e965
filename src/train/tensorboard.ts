/**
 * TensorBoard event files: the metrics as scalars, so that everyone's usual tool can show them.
 *
 * A file is a sequence of records: length (uint64), its masked CRC-32C, the bytes of an Event
 * message, their masked CRC-32C.
 * Source: tensorflow/core/util/event.proto and record_writer.cc of TensorFlow.
 */
import { readdirSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { MetricsRecord } from "../core/run.js";
import { appendWhole } from "../core/write.js";

const FILE = "events.out.tfevents.0.rlvr";

/** Writes the metrics of one run. */
export class TensorboardWriter {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Starts a file anew in `dir` with the records that the run already has. */
  static async open(dir: string, records: readonly MetricsRecord[]): Promise<TensorboardWriter> {
    await mkdir(dir, { recursive: true });
    for (const name of readdirSync(dir)) {
      if (name.startsWith("events.out.tfevents.")) rmSync(join(dir, name));
    }
    const writer = new TensorboardWriter(join(dir, FILE));
    const started = records[0]?.time ?? Date.now();
    appendWhole(writer.#path, frame(versionEvent(started / 1000)));
    for (const record of records) writer.write(record);
    return writer;
  }

  /** Appends a record; names of validation metrics get the prefix `val/`. */
  write({ step, phase, time, metrics }: MetricsRecord): void {
    const values = Object.entries(metrics)
      .filter(([, value]) => Number.isFinite(value))
      .map(([name, value]) => scalar(phase === "val" ? `val/${name}` : name, value));
    const summary = field(5, Buffer.concat(values));
    appendWhole(
      this.#path,
      frame(Buffer.concat([wallTime(time / 1000), stepField(step), summary])),
    );
  }
}

function versionEvent(seconds: number): Buffer {
  return Buffer.concat([wallTime(seconds), field(3, Buffer.from("brain.Event:2"))]);
}

/** Event.wall_time: field 1, a double. */
function wallTime(seconds: number): Buffer {
  const bytes = Buffer.alloc(9);
  bytes[0] = (1 << 3) | 1;
  bytes.writeDoubleLE(seconds, 1);
  return bytes;
}

/** Event.step: field 2, a varint. */
function stepField(step: number): Buffer {
  return Buffer.concat([Buffer.of(2 << 3), varint(step)]);
}

/** Summary.Value: tag in field 1, simple_value in field 2; itself field 1 of a Summary. */
function scalar(tag: string, value: number): Buffer {
  const simple = Buffer.alloc(5);
  simple[0] = (2 << 3) | 5;
  simple.writeFloatLE(value, 1);
  return field(1, Buffer.concat([field(1, Buffer.from(tag)), simple]));
}

/** A length-delimited field. */
function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.of((number << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, rest]);
}

function frame(event: Buffer): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(event.length));
  return Buffer.concat([length, maskedCrc(length), event, maskedCrc(event)]);
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let crc = n;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc >>> 0;
});

/** CRC-32C (Castagnoli). */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ byte) & 0xff];
  return (crc ^ 0xffffffff) >>> 0;
}

function maskedCrc(bytes: Uint8Array): Buffer {
  const crc = crc32c(bytes);
  const rotated = ((crc >>> 15) | (crc << 17)) >>> 0;
  const masked = Buffer.alloc(4);
  masked.writeUInt32LE((rotated + 0xa282ead8) >>> 0);
  return masked;
}
