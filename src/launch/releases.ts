/**
 * What is known of each release of veRL: where its reward is configured, what it needs beside
 * itself, and where its key names differ from those of 0.9. A release that is not in this table is
 * refused, because veRL accepts keys that it then ignores.
 *
 * Source: the releases on PyPI: setup.py, verl/trainer/config/_generated_ppo_trainer.yaml,
 * verl/trainer/main_ppo.py and verl/utils/tracking.py of each.
 */
import { LaunchError } from "../core/errors.js";

/** A release that the launcher knows. */
export interface Release {
  /** Versions `series` and `series.*`, e.g. `0.9`. */
  series: string;
  /**
   * Where the reward function is configured: at the top level up to 0.7.0, under `reward` after it.
   * From 0.9 the old place parses and is silently ignored.
   */
  rewardHome: "top" | "reward";
  /** Older reward managers call plain functions only. */
  rewardFunction: "compute_score" | "compute_score_sync";
  /** True where metrics can be had as a JSONL file; before, only from the console lines. */
  hasFileLogger: boolean;
  /** True for the trainer that keeps samples in TransferQueue. */
  isV1: boolean;
  /** Packages beside veRL without which the default trainer does not start. */
  needs: string[];
  /** Oldest and newest version of other packages that this release was made for. */
  ranges: Record<string, { from?: string; below?: string }>;
}

const old = {
  rewardHome: "top",
  rewardFunction: "compute_score_sync",
  isV1: false,
  needs: ["ray", "torch", "hydra-core", "tensordict", "transformers"],
} as const;
const recent = { ...old, rewardHome: "reward", rewardFunction: "compute_score" } as const;

/** Known releases, newest first. The first series that fits a version is taken. */
export const RELEASES: readonly Release[] = [
  {
    ...recent,
    series: "0.10.0.dev",
    hasFileLogger: true,
    isV1: true,
    needs: [...old.needs, "TransferQueue", "orjson"],
    ranges: {
      python: { from: "3.10", below: "3.13" },
      ray: { from: "2.41" },
      vllm: { from: "0.18.0" },
      numpy: { from: "2.0" },
      transformers: { from: "5.3.0" },
      tensordict: { from: "0.8.0", below: "0.10.1" },
    },
  },
  {
    ...recent,
    series: "0.9",
    hasFileLogger: true,
    isV1: true,
    needs: [...old.needs, "TransferQueue", "orjson"],
    ranges: {
      python: { from: "3.10" },
      ray: { from: "2.41" },
      vllm: { from: "0.18.0" },
      sglang: { from: "0.5.8" },
      numpy: { from: "2.0" },
      transformers: { from: "5.5.3", below: "5.11" },
      tensordict: { from: "0.8.0", below: "0.10.1" },
    },
  },
  {
    ...recent,
    series: "0.8",
    hasFileLogger: true,
    needs: [...old.needs, "orjson"],
    ranges: {
      python: { from: "3.10" },
      ray: { from: "2.41" },
      vllm: { from: "0.8.5", below: "0.12.1" },
      sglang: { from: "0.5.8" },
      numpy: { below: "2.0" },
      tensordict: { from: "0.8.0", below: "0.10.1" },
    },
  },
  {
    ...recent,
    series: "0.7.1",
    hasFileLogger: true,
    needs: [...old.needs],
    ranges: {
      python: { from: "3.10" },
      ray: { from: "2.41" },
      vllm: { from: "0.8.5", below: "0.12.1" },
      sglang: { from: "0.5.6" },
      numpy: { below: "2.0" },
      tensordict: { from: "0.8.0", below: "0.10.1" },
    },
  },
  {
    ...old,
    series: "0.7.0",
    hasFileLogger: true,
    needs: [...old.needs],
    ranges: {
      python: { from: "3.10" },
      ray: { from: "2.41" },
      vllm: { from: "0.8.5", below: "0.12.1" },
      numpy: { below: "2.0" },
      tensordict: { from: "0.8.0", below: "0.10.1" },
    },
  },
  {
    ...old,
    series: "0.6.0",
    hasFileLogger: true,
    needs: [...old.needs],
    ranges: {
      python: { from: "3.10" },
      ray: { from: "2.41" },
      vllm: { from: "0.8.5", below: "0.11.1" },
      numpy: { below: "2.0" },
      tensordict: { from: "0.8.0", below: "0.10.1" },
    },
  },
  {
    ...old,
    series: "0.6",
    hasFileLogger: true,
    needs: [...old.needs],
    ranges: {
      python: { from: "3.10" },
      ray: { from: "2.41" },
      vllm: { from: "0.8.5", below: "0.11.1" },
      numpy: { below: "2.0" },
      tensordict: { from: "0.8.0", below: "0.10.1" },
    },
  },
  {
    ...old,
    series: "0.5",
    hasFileLogger: false,
    needs: [...old.needs],
    ranges: {
      python: { from: "3.10" },
      ray: { from: "2.41" },
      vllm: { from: "0.7.3", below: "0.8.6" },
      numpy: { below: "2.0" },
      tensordict: { from: "0.8.0", below: "0.9.2" },
    },
  },
];

/**
 * Finds what is known of an installed version.
 *
 * @throws {LaunchError} if nothing is.
 */
export function releaseOf(version: string): Release {
  const found = RELEASES.find(
    ({ series }) =>
      version === series ||
      version.startsWith(`${series}.`) ||
      (series.endsWith("dev") && version.startsWith(series)),
  );
  if (found !== undefined) return found;
  const known = RELEASES.map(({ series }) => series).join(", ");
  throw new LaunchError(
    `veRL ${version} is not known here (known: ${known}): its keys may have moved, and a key that ` +
      "moved is ignored without a word; install a known one, e.g. pip install 'verl==0.9.1'",
  );
}

/** Compares two versions by their numbers; what follows them (`rc1`, `+cu130`) is left out. */
export function compareVersions(a: string, b: string): number {
  const numbers = (version: string) =>
    version
      .split("+")[0]
      .split(/[.-]/)
      .map((part) => parseInt(part, 10) || 0);
  const [left, right] = [numbers(a), numbers(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}
