/**
 * What every node of the Ray that will train finds, asked from inside a worker there: its Python and
 * veRL, the files, the reward function, the verify services. What this machine sees is no answer to
 * that: a service on 127.0.0.1 or a file on a local disk is there for one node alone.
 */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { LaunchError } from "../core/errors.js";
import type { Job, JobOptions } from "./job.js";
import { compareVersions, type Release } from "./releases.js";
import { healthSchema } from "./service-health.js";

const PROGRAM = fileURLToPath(new URL("../../python/verl_nodes.py", import.meta.url));
// A cold Ray on a network disk takes a minute or two; a worker in it some seconds.
const TIMEOUT_MS = 300_000;
const NODE_TIMEOUT_S = 120;
// The words of the program for these.
const MARK = "RLVR_NODES ";
const REFUSED = "refuses the token";

/** What is looked for on each node. */
export interface NodeRequest {
  /** The reward file, which is one of the files, and its function. */
  reward: { path: string; name: string };
  /** Files and folders that workers read. */
  files: string[];
  /** Addresses of verify services. */
  services: string[];
}

/** Null for what is there, else what is wrong with it. */
const fault = z.string().nullable();
const nodeSchema = z.object({
  address: z.string(),
  found: z
    .object({
      python: z.string(),
      verl: z.string().nullable(),
      reward: fault,
      files: z.record(z.string(), fault),
      services: z.record(z.string(), fault),
      /** What each service that answers says of itself. */
      health: z.record(z.string(), healthSchema.nullable().catch(null)),
    })
    .nullable(),
  lost: z.string().nullable(),
});

/** What one node told; `lost` says why nothing was found out there. */
export type NodeFacts = z.infer<typeof nodeSchema>;

/** What the nodes told, or why none did. */
export type NodesAnswer = { nodes: NodeFacts[] } | { failure: string };

/** How the question is put. */
export interface AskOptions {
  /** The Python that will train. */
  python: string;
  /** Token of the verify services. */
  token: string | null;
  start: (options: JobOptions) => Promise<Job>;
  timeoutMs?: number;
}

/** Asks every node. Does not throw: that Ray does not answer is an answer. */
export async function askNodes(request: NodeRequest, options: AskOptions): Promise<NodesAnswer> {
  const { python, token, start, timeoutMs = TIMEOUT_MS } = options;
  const words = JSON.stringify({ ...request, timeout_s: NODE_TIMEOUT_S });
  const lines: string[] = [];
  try {
    const job = await start({
      command: {
        words: [python, "-c", await readFile(PROGRAM, "utf8"), words],
        environment: token === null ? {} : { RLVR_VERIFIER_TOKEN: token },
      },
      onLine: (line) => lines.push(line),
    });
    const over = new AbortController();
    const late = sleep(timeoutMs, null, { signal: over.signal }).catch(() => null);
    const end = await Promise.race([job.ended.finally(() => over.abort()), late]);
    if (end === null) {
      await job.stop();
      return { failure: `no worker answered within ${timeoutMs / 1000} s` };
    }
    const answer = lines.find((line) => line.startsWith(MARK));
    if (answer !== undefined) {
      return { nodes: z.array(nodeSchema).parse(JSON.parse(answer.slice(MARK.length))) };
    }
    const last = lines.findLast((line) => line.trim() !== "");
    return { failure: `${end.reason}${last === undefined ? "" : `: ${last.trim()}`}` };
  } catch (error) {
    if (error instanceof LaunchError) return { failure: error.message };
    throw error;
  }
}

/** What the run needs of every node beside what was asked. */
export interface NodeNeeds {
  release: Release;
  /** Version of veRL that the overrides were made for. */
  verl: string | null;
}

/** What is wrong with the nodes, each with its cure; empty where nothing is. */
export function nodeFaults(nodes: readonly NodeFacts[], needs: NodeNeeds): string[] {
  if (nodes.length === 0) return ["Ray has no node that takes workers; start one with ray start"];
  return nodes.flatMap((node) => {
    const { found } = node;
    const on = `node ${node.address}: `;
    if (found === null) return [`${on}${node.lost}; look at ray status`];
    return [
      ...versionFaults(found, needs),
      ...fileFaults(found),
      ...Object.entries(found.services).flatMap(([url, what]) =>
        what === null ? [] : [serviceFault(url, what, node.address)],
      ),
    ].map((text) => on + text);
  });
}

type Found = NonNullable<NodeFacts["found"]>;

function versionFaults({ python, verl }: Found, { release, verl: wanted }: NodeNeeds): string[] {
  const { from = "0", below = "99" } = release.ranges["python"] ?? {};
  if (compareVersions(python, from) < 0 || compareVersions(python, below) >= 0) {
    return [`Python ${python} does not run veRL ${release.series}; install ${from} or later there`];
  }
  if (verl === wanted) return [];
  return [
    `${verl === null ? "no veRL" : `veRL ${verl}`} in its Python, and the command is made for ` +
      `${wanted}; install verl==${wanted} on every node, and where launch.python is`,
  ];
}

function fileFaults({ reward, files }: Found): string[] {
  const faults = Object.entries(files)
    .filter(([, what]) => what !== null)
    .map(
      ([path, what]) =>
        `${path}: ${what}; workers read it under this path: put it on storage that all nodes share`,
    );
  if (reward !== null) {
    faults.push(
      `the reward file does not load: ${reward}; every node needs what it imports, and it must have ` +
        "the function that reward.custom_reward_function.name says",
    );
  }
  return faults;
}

function serviceFault(url: string, what: string, address: string): string {
  if (what === REFUSED) {
    return `${url} refuses us; give its token in RLVR_VERIFIER_TOKEN`;
  }
  const cure = isLoopback(url)
    ? "that address is each node itself: name in verifier.urls one that all nodes reach, " +
      `such as http://${address}:8710, and start it with rlvr serve --host 0.0.0.0 --token SECRET`
    : "start rlvr serve there with --host 0.0.0.0, and let no firewall stand between";
  return `no verify service at ${url} (${what}); ${cure}`;
}

/** True for addresses that mean the machine itself. */
export const isLoopback = (url: string) => /\/\/(127\.|localhost\b|\[::1\])|^unix:/.test(url);
