/** The frames between Node and python/sandbox/server.py; python/sandbox/link.py says the same. */
import { constants } from "node:os";
import { ConfigError, SandboxError } from "../../core/errors.js";
import type { ProgramEnd, ProgramOutcome } from "../sandbox.js";

/** Of a frame, after its length. */
const HEAD_BYTES = 28;
/** More than a frame can hold: a length beyond it means that the stream is out of step. */
const LARGEST_FRAME = 2 ** 31;
const FIRST = 1;
const LAST = 2;

/** What the server says. */
export type Answer =
  | { kind: "ready"; report: ServerReport }
  | ({ kind: "outcome"; job: number; test: number; outcome: ProgramOutcome } & Flags)
  | { kind: "done"; job: number }
  | { kind: "message"; job: number; message: string }
  | { kind: "failure"; job: number; reason: string }
  /** The server's loop turns. */
  | { kind: "alive" };

interface Flags {
  /** The test was the first that its process ran. */
  isFirst: boolean;
  /** Nothing more comes of this job. */
  isLast: boolean;
}

/** What a server found on this machine when it started. */
export interface ServerReport {
  pid: number;
  python: string;
  machine: string;
  /** Version of Landlock; 0 without. */
  landlock: number;
  seccomp: boolean;
  /** User id of its programs; null when they run as the server's user. */
  uid: number | null;
  /** Why there is no such user; empty when there is or none is asked for. */
  uid_reason: string;
  /** Namespaces of its own, e.g. `pid`. */
  namespaces: string[];
  /** Why there are none; empty when there are. */
  namespaces_reason: string;
}

/**
 * Largest limits by their name in a header: times are reported in 32 bits of microseconds, sizes
 * are packed as they are, and an output comes back in one frame.
 */
const LARGEST_LIMITS: Record<string, number> = {
  cpu_ms: 2 ** 32 / 1000,
  wall_ms: 2 ** 32 / 1000,
  memory: Number.MAX_SAFE_INTEGER,
  output: LARGEST_FRAME - 2 ** 20,
};
const WHOLE = new Set(["memory", "output"]);

/**
 * Packs one request: lengths, header, body.
 *
 * @throws {ConfigError} when a limit is none that the server can be told: it would end by it, and
 * with it the jobs of others.
 */
export function packRequest(
  header: Record<string, unknown>,
  body: readonly Uint8Array[] = [],
): Buffer {
  for (const [name, largest] of Object.entries(LARGEST_LIMITS)) {
    if (Object.hasOwn(header, name)) assertCarried(name, header[name] as number, largest);
  }
  const text = Buffer.from(JSON.stringify(header));
  const lengths = Buffer.alloc(8);
  const size = body.reduce((sum, part) => sum + part.length, 0);
  lengths.writeUInt32LE(text.length, 0);
  lengths.writeUInt32LE(size, 4);
  return Buffer.concat([lengths, text, ...body], 8 + text.length + size);
}

function assertCarried(name: string, value: number, largest: number): void {
  const isWhole = !WHOLE.has(name) || Number.isInteger(value);
  if (value > 0 && value <= largest && isWhole) return;
  const kind = WHOLE.has(name) ? "a whole number" : "a number";
  throw new ConfigError(
    `sandbox: limit ${name}: expected ${kind} above 0 and up to ${Math.floor(largest)}, got ${value}; ` +
      "change the verifier's limits or the problem's",
  );
}

/** Packs the body of a run: how many parts, their sizes, then source and inputs. */
export function packParts(parts: readonly Uint8Array[]): Uint8Array[] {
  const sizes = new Uint32Array([parts.length, ...parts.map((part) => part.length)]);
  return [new Uint8Array(sizes.buffer), ...parts];
}

/** Cuts a stream of bytes into answers. */
export class AnswerReader {
  #chunks: Buffer[] = [];
  #have = 0;
  #need = 4;

  /** Takes the next bytes; yields each answer that is complete. */
  *read(chunk: Buffer): Generator<Answer> {
    this.#chunks.push(chunk);
    this.#have += chunk.length;
    if (this.#have < this.#need) return;
    let data = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#have);
    while (data.length >= 4) {
      const size = data.readUInt32LE(0);
      if (size < HEAD_BYTES || size > LARGEST_FRAME) {
        throw new SandboxError(`sandbox server sent a frame of ${size} bytes`);
      }
      this.#need = 4 + size;
      if (data.length < this.#need) break;
      yield unpack(data.subarray(4, this.#need));
      data = data.subarray(this.#need);
      this.#need = 4;
    }
    this.#chunks = data.length === 0 ? [] : [data];
    this.#have = data.length;
  }
}

function unpack(frame: Buffer): Answer {
  const [kind, end, code, flags] = frame;
  const job = frame.readUInt32LE(4);
  const stdoutAt = HEAD_BYTES + frame.readUInt32LE(24);
  const rest = frame.subarray(stdoutAt);
  switch (kind) {
    case 0:
      return { kind: "ready", report: JSON.parse(rest.toString()) as ServerReport };
    case 1:
      return {
        kind: "outcome",
        job,
        test: frame.readUInt32LE(8),
        outcome: {
          end: endOf(end, code),
          // A copy: a slice would keep the whole chunk that it came in.
          stdout: Buffer.from(rest),
          stderr: stderrOf(end, code, frame.subarray(HEAD_BYTES, stdoutAt)),
          cpuMs: frame.readUInt32LE(12) / 1000,
          wallMs: frame.readUInt32LE(16) / 1000,
          peakBytes: frame.readUInt32LE(20) * 1024,
        },
        isFirst: (flags & FIRST) !== 0,
        isLast: (flags & LAST) !== 0,
      };
    case 2:
      return { kind: "done", job };
    case 3:
      return { kind: "message", job, message: rest.toString() };
    case 4:
      return { kind: "failure", job, reason: rest.toString() };
    case 5:
      return { kind: "alive" };
    default:
      throw new SandboxError(`sandbox server sent a frame of the unknown kind ${kind}`);
  }
}

/** Decodes standard error; a compiler that passed a limit could not say so itself. */
function stderrOf(end: number, code: number, bytes: Buffer): string {
  const limit = end === COMPILE_ERROR ? LIMIT_NAMES[code] : undefined;
  if (limit === undefined) return bytes.length === 0 ? "" : bytes.toString();
  return `${bytes.toString()}compiling passed the ${limit} limit`;
}

const COMPILE_ERROR = 6;
const LIMIT_NAMES: Record<number, string> = { 2: "time", 3: "time", 4: "memory", 5: "output" };

/** Names by number; of two names the first is the usual one, so it is set last. */
const SIGNALS = new Map<number, string>(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, code]) => [code, name]),
);

function endOf(end: number, code: number): ProgramEnd {
  switch (end) {
    case 0:
      return { kind: "exited", exitCode: code };
    case 1:
      return { kind: "signaled", signal: SIGNALS.get(code) ?? `signal ${code}` };
    case 2:
      return { kind: "time_limit", clock: "cpu" };
    case 3:
      return { kind: "time_limit", clock: "wall" };
    case 4:
      return { kind: "memory_limit" };
    case 5:
      return { kind: "output_limit" };
    case COMPILE_ERROR:
      return { kind: "compile_error" };
    default:
      throw new SandboxError(`sandbox server sent the unknown end ${end}`);
  }
}
