/**
 * The languages besides Python: how a program is compiled and run, and what that may touch.
 *
 * A language is one row. Its compile step runs once per program and its folder is kept; its run
 * step has no writable file at all. Both run under the same limits and layers as Python.
 */
import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { isReachable } from "./interpreter.js";
import { ask, findTool, toolAt } from "./toolchain.js";

/** A command and what it may touch besides what every command may. */
export interface Step {
  argv: string[];
  /**
   * `native`: one process with threads; `tree`: may start processes; `compile`: may also write
   * into the program's folder.
   */
  profile: "native" | "tree" | "compile";
  read?: string[];
  execute: string[];
  env?: Record<string, string>;
  /** Whether any user can run its tools. */
  isPublic: boolean;
}

/** What a language needs to know to build its commands. */
export interface Place {
  /** Folder of the program: holds the source, is the working directory. */
  folder: string;
  source: string;
  memoryBytes: number;
}

/** A language on this machine. */
export interface Language {
  /** File name of a source, seen from its folder. */
  fileName: (source: string) => string;
  /** Files that the compiler finds beside it. */
  files?: Record<string, string>;
  /** Versions and flags that go into the key of the compile cache. */
  stamp: string;
  compile: (place: Place) => Step;
  run: (place: Place) => Step;
  /**
   * What the kernel bounds besides, for programs that touch memory faster than anybody looks: all
   * address space, private writable memory, or neither, where the runtime reserves far more than
   * it uses and has a heap limit of its own.
   */
  backstop: "address_space" | "data" | "own_heap";
  /** What the runtime prints when it dies for want of memory. */
  outOfMemory?: RegExp;
}

/** Where compilers, runtimes and their libraries live. */
const SYSTEM = ["/usr", "/bin", "/lib", "/lib64", "/sbin", "/opt"];
const LIBRARIES = ["/usr/lib", "/lib", "/lib64", "/usr/lib64", "/usr/local/lib"];
/** What runtimes read to size their heaps and thread pools. */
const MACHINE_FACTS = ["/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"];
const MEGABYTE = 2 ** 20;

/** Finds the tools of a language; null when they are not on this machine. */
type Detect = () => Promise<Language | null>;

const cpp: Detect = async () => {
  const compiler = await findTool(["g++", "clang++"]);
  if (compiler === null) return null;
  const flags = ["-O2", "-std=gnu++20", "-pipe"];
  return {
    fileName: () => "program.cpp",
    stamp: `${compiler.version} ${flags.join(" ")}`,
    compile: () => ({
      argv: [compiler.path, ...flags, "program.cpp", "-o", "program"],
      profile: "compile",
      execute: SYSTEM,
      isPublic: compiler.isPublic,
    }),
    run: ({ folder }) => native(folder),
    backstop: "address_space",
    outOfMemory: /std::bad_alloc/,
  };
};

const rust: Detect = async () => {
  // The command is often a launcher that picks a toolchain; its folder names the real one.
  const root = await ask("rustc", ["--print", "sysroot"]);
  const version = await ask("rustc", ["--version"]);
  if (root === null || version === null) return null;
  const compiler = toolAt(`${root}/bin/rustc`, version);
  const flags = ["-O", "--edition", "2021", "-C", "debuginfo=0"];
  return {
    fileName: () => "program.rs",
    stamp: `${version} ${flags.join(" ")}`,
    compile: () => ({
      argv: [compiler.path, ...flags, "program.rs", "-o", "program"],
      profile: "compile",
      execute: [...SYSTEM, root],
      isPublic: compiler.isPublic,
    }),
    run: ({ folder }) => native(folder),
    backstop: "address_space",
    outOfMemory: /memory allocation of \d+ bytes failed/,
  };
};

const java: Detect = async () => {
  const compiler = await findTool(["javac"]);
  const runtime = await findTool(["java"]);
  if (compiler === null || runtime === null) return null;
  const home = dirname(dirname(runtime.path));
  // Settings of Debian's packages lie outside of the runtime's own folder.
  const settings = readdirSync("/etc").filter((name) => name.startsWith("java-"));
  const jvm = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto"];
  const read = [...MACHINE_FACTS, ...settings.map((name) => `/etc/${name}`)];
  const shared = { read, execute: [...SYSTEM, home] };
  return {
    fileName: (source) => `${mainClass(source)}.java`,
    stamp: `${compiler.version} ${runtime.version}`,
    compile: ({ source }) => ({
      argv: [
        compiler.path,
        ...jvm.map((flag) => `-J${flag}`),
        "-encoding",
        "UTF-8",
        "-d",
        ".",
        `${mainClass(source)}.java`,
      ],
      profile: "compile",
      ...shared,
      isPublic: compiler.isPublic,
    }),
    run: ({ source, memoryBytes }) => ({
      argv: [
        runtime.path,
        ...jvm,
        `-Xmx${Math.max(16, Math.floor((memoryBytes / MEGABYTE) * 0.8))}m`,
        "-Xss64m",
        "-Dfile.encoding=UTF-8",
        "-cp",
        ".",
        mainClass(source),
      ],
      profile: "native",
      ...shared,
      isPublic: runtime.isPublic,
    }),
    backstop: "own_heap",
    outOfMemory: /java\.lang\.OutOfMemoryError/,
  };
};

/** The class that a Java program starts from: the public one, else the one with `main`. */
export function mainClass(source: string): string {
  // Comments and texts may speak of classes.
  const code = source.replace(
    /\/\/.*|\/\*[^]*?(?:\*\/|$)|"""[^]*?(?:"""|$)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g,
    " ",
  );
  const open = /\bpublic\s+(?:final\s+|abstract\s+)*class\s+(\w+)/.exec(code);
  const withMain = /\bclass\s+(\w+)(?:(?!\bclass\b)[^])*?\bstatic\s+(?:public\s+)?void\s+main\b/;
  return (open ?? withMain.exec(code))?.[1] ?? "Main";
}

const javascript: Detect = async () => {
  const runtime = toolAt(process.execPath, process.version);
  const home = dirname(dirname(runtime.path));
  const shared = {
    read: [...MACHINE_FACTS, "/etc/ssl/openssl.cnf"],
    execute: [...LIBRARIES, home === "/usr" ? runtime.path : home],
    isPublic: runtime.isPublic,
    profile: "native" as const,
  };
  return {
    fileName: () => "program.js",
    stamp: runtime.version,
    compile: () => ({ argv: [runtime.path, "--check", "program.js"], ...shared }),
    run: ({ memoryBytes }) => ({
      argv: [
        runtime.path,
        `--max-old-space-size=${Math.max(16, Math.floor((memoryBytes / MEGABYTE) * 0.8))}`,
        "--stack-size=60000",
        "program.js",
      ],
      ...shared,
    }),
    backstop: "own_heap",
    outOfMemory: /JavaScript heap out of memory|Array buffer allocation failed/,
  };
};

const go: Detect = async () => {
  const root = await ask("go", ["env", "GOROOT"]);
  const tools = await ask("go", ["env", "GOTOOLDIR"]);
  const version = await ask("go", ["version"]);
  const cache = await ask("go", ["env", "GOCACHE"]);
  if (root === null || tools === null || version === null || cache === null) return null;
  const imports = await goPackages();
  if (imports === null) return null;
  // `go build` would write into its cache, which other programs read; its two tools do not.
  const script =
    `${tools}/compile -p main -complete -importcfg importcfg -o program.o program.go && ` +
    `${tools}/link -importcfg importcfg -s -w -o program program.o`;
  return {
    fileName: () => "program.go",
    files: { importcfg: imports },
    stamp: version,
    compile: () => ({
      argv: ["/bin/sh", "-c", script],
      env: { GOROOT: root },
      profile: "compile",
      read: [cache],
      execute: [...SYSTEM, root],
      isPublic: [`${tools}/compile`, cache].every(isReachable),
    }),
    run: ({ folder }) => ({ ...native(folder), read: ["/sys/kernel/mm/transparent_hugepage"] }),
    backstop: "data",
    outOfMemory: /fatal error: (?:runtime: )?(?:cannot allocate memory|out of memory)/,
  };
};

/** The packages that programs use; the whole library would take a minute to build. */
const GO_PACKAGES =
  "bufio bytes cmp container/heap container/list container/ring context encoding/binary " +
  "encoding/hex encoding/json errors fmt hash/crc32 hash/fnv hash/maphash io iter maps math " +
  "math/big math/bits math/cmplx math/rand math/rand/v2 os reflect regexp runtime runtime/debug " +
  "slices sort strconv strings sync sync/atomic text/tabwriter time unicode unicode/utf8 unsafe";

/** Where Go keeps its compiled packages, as its linker reads it; the first call builds them. */
async function goPackages(): Promise<string | null> {
  const format = "{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}";
  const list = ["list", "-deps", "-export", "-f", format, ...GO_PACKAGES.split(" ")];
  const files = await ask("go", list, { timeoutMs: 300_000 });
  return files === null ? null : `${files}\n`;
}

const bash: Detect = async () => {
  const shell = await findTool(["bash"]);
  if (shell === null) return null;
  const shared = {
    profile: "tree" as const,
    execute: SYSTEM,
    env: { PATH: "/usr/bin:/bin" },
    isPublic: shell.isPublic,
  };
  return {
    fileName: () => "program.sh",
    stamp: shell.version.split("\n")[0],
    compile: () => ({ argv: [shell.path, "-n", "program.sh"], ...shared }),
    run: () => ({ argv: [shell.path, "program.sh"], ...shared }),
    backstop: "address_space",
    outOfMemory: /cannot allocate \d+ bytes/,
  };
};

function native(folder: string): Step {
  return {
    argv: [`${folder}/program`],
    profile: "native",
    execute: LIBRARIES,
    isPublic: true,
  };
}

/** Every language besides Python, by its name in problems. */
export const LANGUAGES: Record<string, Detect> = { cpp, java, javascript, go, rust, bash };
