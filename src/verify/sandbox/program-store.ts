/**
 * Programs of compiled languages on disk: a folder per program, compiled once and kept under a key
 * of language, flags, versions and source.
 *
 * A failed compile is kept too. A failure of the sandbox is not, nor is a program that met one: its
 * files may have been taken away, as cleaners of temporary folders do, and it is compiled anew.
 */
import { createHash } from "node:crypto";
import { access, chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SandboxError } from "../../core/errors.js";
import { isAlive } from "../../core/process.js";
import type { ProgramOutcome } from "../sandbox.js";
import type { Language } from "./languages.js";

/** Folders kept; the one unused for longest goes first. */
const MOST_PROGRAMS = 256;
const PREFIX = "code-rlvr-programs-";

/** A compiled program, or why there is none. */
export type Compiled =
  { kind: "program"; folder: string } | { kind: "error"; outcome: ProgramOutcome };

interface Entry {
  /** Null until it is made. */
  folder: string | null;
  compiled: Promise<Compiled>;
  /** Runs that use it at the moment. */
  users: number;
  /** No longer found; its folder goes with its last user. */
  isForgotten: boolean;
}

/** The programs of one sandbox. */
export class ProgramStore {
  /** The folder of the folders; made anew when it is gone. */
  #root: string;
  #making: Promise<string> | null = null;
  /** In order of last use. */
  readonly #entries = new Map<string, Entry>();
  #nextFolder = 0;

  private constructor(root: string) {
    this.#root = root;
  }

  /** Makes the folder, and removes those of processes that were killed. */
  static async open(): Promise<ProgramStore> {
    for (const name of await readdir(tmpdir())) {
      const owner = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length).split("-")[0]) : NaN;
      if (owner > 0 && !isAlive(owner)) await removeFolder(join(tmpdir(), name));
    }
    return new ProgramStore(await makeRoot());
  }

  /**
   * Uses the program's folder, compiling first if nobody has.
   *
   * `compile` gets the folder with the source in it; null means that it went well.
   */
  async use<T>(
    language: Language,
    source: string,
    compile: (folder: string) => Promise<ProgramOutcome | null>,
    work: (compiled: Compiled) => Promise<T>,
  ): Promise<T> {
    const key = createHash("sha256").update(`${language.stamp}\0${source}`).digest("hex");
    const entry = this.#entries.get(key) ?? this.#create(key, language, source, compile);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.users++;
    try {
      return await work(await entry.compiled);
    } catch (error) {
      if (error instanceof SandboxError) this.#forget(key, entry);
      throw error;
    } finally {
      entry.users--;
      if (entry.isForgotten && entry.users === 0) await removeFolder(entry.folder);
      await this.#trim();
    }
  }

  /** Removes everything. */
  async close(): Promise<void> {
    await removeFolder(this.#root);
  }

  #create(
    key: string,
    language: Language,
    source: string,
    compile: (folder: string) => Promise<ProgramOutcome | null>,
  ): Entry {
    const prepare = async (): Promise<Compiled> => {
      const files = { ...language.files, [language.fileName(source)]: source };
      const folder = await onDisk(() => this.#makeFolder(files));
      entry.folder = folder;
      const outcome = await compile(folder);
      await onDisk(() => chmod(folder, 0o755));
      return outcome === null ? { kind: "program", folder } : { kind: "error", outcome };
    };
    const entry: Entry = { folder: null, compiled: prepare(), users: 0, isForgotten: false };
    entry.compiled.catch(() => this.#forget(key, entry));
    return entry;
  }

  async #makeFolder(files: Record<string, string>): Promise<string> {
    const folder = join(await this.#findRoot(), String(this.#nextFolder++));
    await mkdir(folder);
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    // The compiler may run as another user; afterwards nobody writes here.
    await chmod(folder, 0o777);
    return folder;
  }

  async #findRoot(): Promise<string> {
    const root = this.#root;
    const isThere = await access(root).then(
      () => true,
      () => false,
    );
    if (isThere || this.#root !== root) return this.#root;
    this.#making ??= makeRoot()
      .then((made) => (this.#root = made))
      .finally(() => (this.#making = null));
    return this.#making;
  }

  #forget(key: string, entry: Entry): void {
    entry.isForgotten = true;
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }

  async #trim(): Promise<void> {
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size <= MOST_PROGRAMS) return;
      if (entry.users > 0) continue;
      this.#entries.delete(key);
      await removeFolder(entry.folder);
    }
  }
}

async function makeRoot(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
  // Programs run as other users find their own folder, and list nobody's.
  await chmod(root, 0o711);
  return root;
}

/** A disk that is full, or emptied by others, is no program's failure. */
async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new SandboxError(`sandbox: the folder of a program failed: ${reason}`, { cause });
  }
}

async function removeFolder(folder: string | null): Promise<void> {
  if (folder !== null) await rm(folder, { recursive: true, force: true });
}
