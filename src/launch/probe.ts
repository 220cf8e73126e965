/** Finds out what is there: the Python that will train, GPUs, memory, disk and Ray. */
import { execFile } from "node:child_process";
import { freemem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { freeBytes } from "../core/disk.js";
import { LaunchError } from "../core/errors.js";
import { readTextOrNull } from "../core/read.js";
import { listConfigKeys } from "./hydra.js";
import { healthSchema, type ServiceHealth } from "./service-health.js";

const call = promisify(execFile);
const PROBE = fileURLToPath(new URL("../../python/verl_probe.py", import.meta.url));
// A cold import system on a network disk takes seconds; more than this is a hang.
const PROBE_TIMEOUT_MS = 60_000;

const probeSchema = z.object({
  python: z.string(),
  executable: z.string(),
  versions: z.record(z.string(), z.string().nullable()),
  importable: z.record(z.string(), z.boolean()),
  verl_folder: z.string().nullable(),
  cpus: z.number(),
  readable: z.record(z.string(), z.boolean()),
});

/** What a Python said of itself. */
export type PythonFacts = z.infer<typeof probeSchema>;

/** One GPU. */
export interface GpuFacts {
  name: string;
  memoryMb: number;
  freeMb: number;
}

/** What the preflight checks look at. */
export interface MachineFacts {
  python: PythonFacts;
  gpus: GpuFacts[];
  freeMemoryBytes: number;
  /** Free bytes where checkpoints go. */
  freeDiskBytes: number;
  /** Every key of the installed veRL's default configuration; null where it has no such file. */
  knownKeys: Set<string> | null;
}

/**
 * Asks a Python about its packages, and whether it can read these files.
 *
 * @throws {LaunchError} if it does not start.
 */
export async function probePython(python: string, files: string[]): Promise<PythonFacts> {
  try {
    const { stdout } = await call(python, [PROBE, ...files], { timeout: PROBE_TIMEOUT_MS });
    return probeSchema.parse(JSON.parse(stdout));
  } catch (cause) {
    throw new LaunchError(
      `python: expected ${python} to start and tell its packages; set launch.python to the Python ` +
        "in which veRL is installed",
      { cause },
    );
  }
}

/** Looks at this machine. `disk` is a folder that will be written to; it need not be there yet. */
export async function probeMachine(
  python: string,
  { files, disk }: { files: string[]; disk: string },
): Promise<MachineFacts> {
  const facts = await probePython(python, files);
  return {
    python: facts,
    gpus: await listGpus(),
    freeMemoryBytes: freemem(),
    freeDiskBytes: await freeBytes(disk),
    knownKeys: await readKnownKeys(facts.verl_folder),
  };
}

async function listGpus(): Promise<GpuFacts[]> {
  const query = "--query-gpu=name,memory.total,memory.free";
  try {
    const { stdout } = await call("nvidia-smi", [query, "--format=csv,noheader,nounits"]);
    return parseGpus(stdout);
  } catch {
    // No driver, no GPU: the preflight says what that means.
    return [];
  }
}

/** Reads the lines of `nvidia-smi --query-gpu=name,memory.total,memory.free`. */
export function parseGpus(csv: string): GpuFacts[] {
  return csv
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split(",").map((cell) => cell.trim()))
    .map(([name, total, free]) => ({ name, memoryMb: Number(total), freeMb: Number(free) }));
}

async function readKnownKeys(folder: string | null): Promise<Set<string> | null> {
  if (folder === null) return null;
  const path = join(folder, "trainer", "config", "_generated_ppo_trainer.yaml");
  const text = await readTextOrNull(path);
  return text === null ? null : new Set(listConfigKeys(parseYaml(text)));
}

/** What answers at an address of a verify service. */
export interface ServiceAnswer {
  url: string;
  /** `refused` when it wants another token; null when nothing answers. */
  answer: "ok" | "refused" | null;
  /** What it says of itself; null where it says nothing that we understand. */
  health: ServiceHealth | null;
}

// A service answers its health route at once, also when it is busy.
const SERVICE_TIMEOUT_MS = 5000;

/** Asks each verify service whether it is there and takes our token. */
export async function askServices(urls: string[], token: string | null): Promise<ServiceAnswer[]> {
  return Promise.all(
    urls.map(async (url) => {
      const headers = token === null ? {} : { authorization: `Bearer ${token}` };
      const ask = (path: string) =>
        fetch(url.replace(/\/+$/, "") + path, {
          headers,
          signal: AbortSignal.timeout(SERVICE_TIMEOUT_MS),
        });
      try {
        const answered = await ask("/healthz");
        if (!answered.ok) return { url, answer: null, health: null };
        const told = await answered.json().catch(() => null);
        const health = healthSchema.safeParse(told).data ?? null;
        // The health route asks for no token; any other route does.
        const { status } = await ask("/openapi.json");
        return { url, answer: status === 401 || status === 403 ? "refused" : "ok", health };
      } catch {
        return { url, answer: null, health: null };
      }
    }),
  );
}
