/** Compiles and runs programs of the languages table on a server. */
import { ConfigError } from "../../core/errors.js";
import type { ProgramJob, ProgramOutcome, SandboxLimits } from "../sandbox.js";
import { limitsHeader, type ServerConnection } from "./connection.js";
import { type Language, LANGUAGES, type Step } from "./languages.js";
import { runProgram, type RunPlan } from "./program-run.js";
import type { ProgramStore } from "./program-store.js";

/** Compilers are heavy beside the programs they make; these bound them, not the program. */
const COMPILE_LIMITS: SandboxLimits = {
  cpuMs: 30_000,
  wallMs: 90_000,
  memoryBytes: 2 * 2 ** 30,
  outputBytes: 2 ** 20,
};
const COMPILED_FILE_BYTES = 256 * 2 ** 20;
/** Address space beyond the memory limit; python/sandbox/harden.py keeps the same for Python. */
const ADDRESS_SPARE = 2 ** 30;
/** Private writable memory beyond it, where the address space has to stay free: stacks, code. */
const DATA_SPARE = 2 ** 28;
/** Limits that the kernel keeps by itself. */
interface Backstop {
  address_bytes?: number;
  data_bytes?: number;
}

const BACKSTOPS: Record<Language["backstop"], (memoryBytes: number) => Backstop> = {
  address_space: (memoryBytes) => ({ address_bytes: memoryBytes + ADDRESS_SPARE }),
  data: (memoryBytes) => ({ data_bytes: memoryBytes + DATA_SPARE }),
  own_heap: () => ({}),
};

/** What any command may read. */
const COMMON_READ = ["/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"];
const STDERR_KEPT = 4096;

/** Finds languages once each. */
export class Languages {
  readonly #found = new Map<string, Promise<Language | null>>();

  /**
   * Finds a language's tools.
   *
   * @throws {ConfigError} when the language is unknown or its tools are not on this machine.
   */
  async get(name: string): Promise<Language> {
    const detect = Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined;
    if (detect === undefined) {
      const known = ["python", ...Object.keys(LANGUAGES)].join(", ");
      throw new ConfigError(`the sandbox knows the languages ${known}, not ${name}`);
    }
    const found = this.#found.get(name) ?? detect();
    this.#found.set(name, found);
    const language = await found;
    if (language !== null) return language;
    throw new ConfigError(
      `programs in ${name} need its compiler or interpreter on PATH; there is none on this machine`,
    );
  }
}

/**
 * Runs a program, compiling it first if the store has no copy.
 *
 * @throws {ConfigError} when nothing would bound the processes that it may start.
 */
export function runCommand(
  server: ServerConnection,
  job: ProgramJob,
  language: Language,
  store: ProgramStore,
): Promise<ProgramOutcome[]> {
  const { source, limits } = job;
  const { memoryBytes } = limits;
  refuseUnbounded(server, job, language);
  const compile = async (folder: string) => {
    const step = language.compile({ folder, source, memoryBytes });
    const plan = planOf(step, folder, COMPILE_LIMITS, {});
    const empty = { ...job, stdins: [new Uint8Array()], limits: COMPILE_LIMITS };
    delete empty.onOutcome;
    delete empty.isSuccess;
    // Others may wait for the same program: one caller's abort is not theirs.
    delete empty.signal;
    const [outcome] = await runProgram(server, empty, plan);
    return outcome.end.kind === "exited" && outcome.end.exitCode === 0 ? null : failed(outcome);
  };
  return store.use(language, source, compile, async (compiled) => {
    if (compiled.kind === "error") {
      job.onOutcome?.(0, compiled.outcome, true);
      return [compiled.outcome];
    }
    const { folder } = compiled;
    const step = language.run({ folder, source, memoryBytes });
    const plan = planOf(step, folder, limits, BACKSTOPS[language.backstop](memoryBytes));
    return runProgram(server, job, {
      ...plan,
      translate: (outcome) => translate(outcome, language),
    });
  });
}

/** The kernel bounds the processes of any user but root. */
function refuseUnbounded(server: ServerConnection, job: ProgramJob, language: Language): void {
  const { source, limits } = job;
  const step = language.run({ folder: "/", source, memoryBytes: limits.memoryBytes });
  const isRoot = process.geteuid?.() === 0 && (server.report.uid === null || !step.isPublic);
  if (step.profile !== "tree" || !isRoot) return;
  throw new ConfigError(
    `programs in ${job.language} start processes, which nothing bounds here: the sandbox runs as ` +
      `root and its programs cannot have a user of their own (${server.report.uid_reason}). ` +
      "Run it as an ordinary user",
  );
}

function planOf(step: Step, folder: string, limits: SandboxLimits, backstop: Backstop): RunPlan {
  const isCompile = step.profile === "compile";
  return {
    header: {
      op: "command",
      argv: step.argv,
      env: {
        PATH: "/usr/bin:/bin",
        LANG: "C.UTF-8",
        TZ: "UTC",
        HOME: folder,
        TMPDIR: folder,
        ...step.env,
      },
      cwd: folder,
      profile: step.profile,
      read: [...COMMON_READ, ...(step.read ?? [])],
      execute: [...step.execute, folder],
      write: isCompile ? [folder] : [],
      own_user: step.isPublic,
      address_bytes: null,
      data_bytes: null,
      ...backstop,
      file_bytes: isCompile ? COMPILED_FILE_BYTES : 0,
      ...limitsHeader(limits),
    },
    // A command has no source of its own on the wire.
    parts: [new Uint8Array()],
  };
}

/** The outcome of a program whose compile failed: what the compiler said, or the limit it passed. */
function failed(outcome: ProgramOutcome): ProgramOutcome {
  const { end, stdout, stderr } = outcome;
  const said = `${Buffer.from(stdout).toString()}${stderr}`;
  const limit = "exitCode" in end ? "" : `compiling ended with ${end.kind}`;
  const text = `${said.slice(-STDERR_KEPT)}${limit}`;
  return { ...outcome, end: { kind: "compile_error" }, stdout: new Uint8Array(), stderr: text };
}

function translate(outcome: ProgramOutcome, { outOfMemory }: Language): ProgramOutcome {
  const { end, stderr } = outcome;
  const hasFailed = end.kind === "signaled" || (end.kind === "exited" && end.exitCode !== 0);
  if (!hasFailed || outOfMemory?.test(stderr) !== true) return outcome;
  return { ...outcome, end: { kind: "memory_limit" } };
}
