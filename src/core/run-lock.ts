/**
 * One process per run directory: a file that names who writes there, made in one step, so that of two
 * that start at once only one goes on. A process that was killed leaves its file; the next one sees
 * that nobody of that name lives, and takes the place.
 *
 * A name is a process id with the time the process started, where the system tells it: ids are
 * used again, in containers at once.
 */
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { ConfigError } from "./errors.js";
import { isAlive } from "./process.js";
import { runPaths } from "./run.js";
import { cannotWrite } from "./write.js";

interface Holder {
  pid: number;
  /** Clock ticks from the start of the system to that of the process; null where nobody tells. */
  startedAt: string | null;
}

/** Between two looks somebody else may come and go, but not this often. */
const ATTEMPTS = 20;

/**
 * Takes the run directory, which is made if it is missing. Answers what gives it back.
 *
 * @throws {ConfigError} if another process holds it.
 * @throws {DataError} if the directory cannot be written.
 */
export function lockRun(dir: string): () => void {
  const path = runPaths(dir).lock;
  const own = `${path}.${process.pid}`;
  try {
    const isNew = mkdirSync(dir, { recursive: true }) !== undefined;
    writeFileSync(own, JSON.stringify(holderOf(process.pid)));
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (take(own, path)) return () => giveBack(path, isNew ? dir : null);
      const holder = readHolder(path);
      if (holder !== null && isHeld(holder)) {
        throw new ConfigError(
          `${dir} is being written by process ${holder.pid}; wait for it or stop it`,
        );
      }
      removeDead(path, holder);
    }
    throw new ConfigError(`${dir} is being opened by other processes; try again`);
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw cannotWrite(path, cause);
  } finally {
    rmSync(own, { force: true });
  }
}

/** `made` is the directory if it was not there before. */
function giveBack(path: string, made: string | null): void {
  rmSync(path, { force: true });
  if (made === null) return;
  try {
    // A run that was refused before it wrote anything leaves nothing.
    rmdirSync(made);
  } catch {
    // It holds a run.
  }
}

/** A link is made with its content or not at all. */
function take(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function readHolder(path: string): Holder | null {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Holder;
  } catch {
    // Given back between two looks, or never written whole.
    return null;
  }
}

/** Of two that find the same dead holder only one can move its file away. */
function removeDead(path: string, dead: Holder | null): void {
  const aside = `${path}.dead-${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  const moved = readHolder(aside);
  const isDead = moved === null || moved.pid === dead?.pid || !isHeld(moved);
  // Somebody took the place in between: it stays theirs.
  if (!isDead) take(aside, path);
  rmSync(aside, { force: true });
}

function isHeld({ pid, startedAt }: Holder): boolean {
  return isAlive(pid) && (startedAt === null || holderOf(pid).startedAt === startedAt);
}

function holderOf(pid: number): Holder {
  try {
    // Fields 1 and 2 are the id and the name, which stands in brackets and may hold anything.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return { pid, startedAt: stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null };
  } catch {
    return { pid, startedAt: null };
  }
}
