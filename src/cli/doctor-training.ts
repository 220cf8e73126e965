/** `rlvr doctor`, training: would the embedded engine run here, and would the starter run fit? */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { presetValues } from "../config/presets.js";
import { freeBytes } from "../core/disk.js";
import type { Check, Finding } from "./doctor-report.js";

/** Memory of a starter run at its peak, rounded up: docs/BENCHMARKS.md. */
const STARTER_BYTES = 1e9;
/** Disk of a starter run: checkpoints, rollouts and evaluations, rounded up. */
const STARTER_DISK_BYTES = 200e6;

/** Examines processors, memory, disk, ONNX Runtime and the packaged starter. */
export async function checkTraining(): Promise<Check> {
  const facts = {
    cores: availableParallelism(),
    freeMemoryBytes: process.availableMemory(),
    freeDiskBytes: await freeBytes("."),
    onnxruntime: await loadRuntime(),
    missingStarterFiles: starterFiles().filter((path) => !existsSync(path)),
  };
  return { facts, findings: findingsOf(facts) };
}

type Facts = {
  cores: number;
  freeMemoryBytes: number;
  freeDiskBytes: number;
  onnxruntime: { version: string } | { error: string };
  missingStarterFiles: string[];
};

/** Says the facts as findings. */
export function findingsOf(facts: Facts): Finding[] {
  const { cores, freeMemoryBytes, freeDiskBytes, onnxruntime, missingStarterFiles } = facts;
  const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  const room = (what: string, bytes: number, needed: number): Finding => ({
    state: bytes < needed ? "weaker" : "ok",
    what,
    detail: `${gigabytes(bytes)} free; the starter run takes up to ${gigabytes(needed)}`,
  });
  return [
    {
      state: cores < 2 ? "weaker" : "ok",
      what: "processors",
      detail: cores < 2 ? "1; sampling and judging share it" : String(cores),
    },
    room("memory", freeMemoryBytes, STARTER_BYTES),
    room("disk", freeDiskBytes, STARTER_DISK_BYTES),
    "version" in onnxruntime
      ? { state: "ok", what: "ONNX Runtime", detail: onnxruntime.version }
      : { state: "missing", what: "ONNX Runtime", detail: onnxruntime.error },
    missingStarterFiles.length === 0
      ? { state: "ok", what: "starter", detail: "model and problems are in this package" }
      : { state: "missing", what: "starter", detail: `expected ${missingStarterFiles.join(", ")}` },
  ];
}

async function loadRuntime(): Promise<Facts["onnxruntime"]> {
  try {
    const { env } = await import("onnxruntime-node");
    return { version: env.versions.node ?? "unknown version" };
  } catch (error) {
    return { error: `cannot be loaded: ${(error as Error).message.split("\n")[0]}` };
  }
}

function starterFiles(): string[] {
  const values = presetValues("starter");
  const keys = ["data.train_files", "data.val_files", "actor_rollout_ref.model.path"];
  return keys.map((key) => String(values.get(key)));
}
