/**
 * Programs of compiled languages on disk: a folder per program, compiled once and kept under a key
 * of language, flags, versions and source.
 *
 * A failed compile is kept too; a failure of the sandbox is not, and may be tried again.
 */
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
  folder: string;
  compiled: Promise<Compiled>;
  /** Runs that use it at the moment. */
  users: number;
}

/** The programs of one sandbox. */
export class ProgramStore {
  readonly #root: string;
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
    const root = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
    // Programs run as other users find their own folder, and list nobody's.
    await chmod(root, 0o711);
    return new ProgramStore(root);
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
    } finally {
      entry.users--;
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
    const folder = join(this.#root, String(this.#nextFolder++));
    const prepare = async (): Promise<Compiled> => {
      await mkdir(folder);
      const files = { ...language.files, [language.fileName(source)]: source };
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
      // The compiler may run as another user; afterwards nobody writes here.
      await chmod(folder, 0o777);
      const outcome = await compile(folder);
      await chmod(folder, 0o755);
      return outcome === null ? { kind: "program", folder } : { kind: "error", outcome };
    };
    const compiled = prepare();
    compiled.catch(() => {
      this.#entries.delete(key);
      return removeFolder(folder);
    });
    return { folder, compiled, users: 0 };
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

async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}
