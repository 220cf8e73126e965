/** Python programs in the fork server: what they may do, and how each limit ends them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSandbox } from "../../src/verify/sandbox/open.js";
import type { ProgramOutcome, Sandbox } from "../../src/verify/sandbox.js";
import { endOf, LIMITS, runAll, runOne } from "./programs.js";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox({ workers: 2, requireIsolation: "basic" });
}, 60_000);
afterAll(() => sandbox.close());

const outputs = async (source: string, inputs: string[]) =>
  (await runAll(sandbox, source, inputs)).map(({ stdout }) => stdout);

describe("a Python program", () => {
  test("reads its input by every way there is", async () => {
    const ways = [
      "print(input())",
      "import sys; print(sys.stdin.readline(), end='')",
      "import sys; print(sys.stdin.buffer.read().decode(), end='')",
      "print(open(0).read(), end='')",
      "import os; print(os.read(0, 99).decode(), end='')",
      "print(open('/dev/stdin').read(), end='')",
      "import mmap; print(mmap.mmap(0, 0, prot=mmap.PROT_READ)[:].decode(), end='')",
      "import fileinput\nfor line in fileinput.input(): print(line, end='')",
    ];
    for (const way of ways)
      expect([way, await outputs(way, ["ab\n", "c\n"])]).toEqual([way, ["ab\n", "c\n"]]);
  });

  test("writes its output by every way there is", async () => {
    const ways = [
      "import os; os.write(1, b'x\\n')",
      "import sys; sys.stdout.buffer.write(b'x\\n')",
      "print('x', file=open('/dev/stdout', 'w'))",
      "f = open(1, 'w', closefd=False); f.write('x\\n')",
      "import sys; sys.stdout.write('x\\n'); sys.exit()",
      "print('x'); quit()",
      "import atexit; atexit.register(lambda: print('x'))",
      "import threading; threading.Thread(target=lambda: print('x')).start()",
    ];
    for (const way of ways)
      expect([way, await outputs(way, ["", ""])]).toEqual([way, ["x\n", "x\n"]]);
  });

  test("ends as an interpreter ends, and leaves nothing for the next test", async () => {
    const endings = [
      "import sys; sys.stdout.close()",
      "import sys; sys.stdout = None",
      "import sys; del sys.stdout",
      "import sys; sys.stderr.close()",
      "import sys, io; sys.stdout = io.StringIO(); print('lost')",
      "import sys, os; sys.stdout = open(os.devnull, 'w'); print('lost')",
      "import sys, io; sys.stdout = io.TextIOWrapper(sys.stdout.detach()); n = 1",
      "import sys, io; sys.stdout = io.TextIOWrapper(sys.stdout.buffer); n = 1",
      "import sys; sys.stderr.close(); sys.exit()",
    ];
    for (const ending of endings) {
      const outcomes = await runAll(sandbox, `n = input()\nprint(n)\n${ending}`, ["1", "2"]);
      const clean = (stdout: string) => ({ end: { kind: "exited", exitCode: 0 }, stdout });
      expect(outcomes, ending).toMatchObject([clean("1\n"), clean("2\n")]);
    }
  });

  test("prints what its objects print when they are freed at the end", async () => {
    const plain = "class A:\n    def __del__(self): print(42)\na = A()";
    expect(await outputs(plain, ["", ""])).toEqual(["42\n", "42\n"]);
    expect(await outputs(`${plain}\na.self = a`, ["", ""])).toEqual(["42\n", "42\n"]);
  });

  test("finds the built-ins as a module, and may ask for limits that it cannot raise", async () => {
    const sources = [
      "__builtins__.print(1)",
      "import resource as r\nr.setrlimit(r.RLIMIT_STACK, (r.RLIM_INFINITY,) * 2)\nprint(1)",
      "import resource as r\nr.setrlimit(r.RLIMIT_STACK, (2**29, r.RLIM_INFINITY))\nprint(1)",
    ];
    for (const source of sources)
      expect([source, await outputs(source, ["", ""])]).toEqual([source, ["1\n", "1\n"]]);
  });

  test("runs as __main__ with a fresh namespace for each test", async () => {
    const source = "if __name__ == '__main__':\n  print('seen' in globals()); seen = 1";
    expect(await outputs(source, ["", "", ""])).toEqual(["False\n", "False\n", "False\n"]);
  });

  test("gives the same random numbers and hashes each time", async () => {
    const source = "import random; print(random.random(), hash('a'))";
    const [first, second] = await outputs(source, ["", ""]);
    expect(second).toBe(first);
    expect(await outputs(source, [""])).toEqual([first]);
  });

  test("may recurse deeply, use threads with big stacks, asyncio and huge integers", async () => {
    const sources = [
      "import sys; sys.setrecursionlimit(10**6)\ndef f(n): return n and 1 + f(n-1)\nprint(f(100000))",
      "import sys, threading; sys.setrecursionlimit(10**6); threading.stack_size(2**28)\n" +
        "def f(n): return n and 1 + f(n-1)\n" +
        "t = threading.Thread(target=lambda: print(f(100000))); t.start(); t.join()",
      "import asyncio\nasync def f(): await asyncio.sleep(0); return 100000\nprint(asyncio.run(f()))",
      "print(len(str(10**99999)))",
      "from concurrent.futures import ThreadPoolExecutor\n" +
        "print(sum(ThreadPoolExecutor(8).map(int, ['50000'] * 2)))",
    ];
    for (const source of sources) {
      const outcomes = await runAll(sandbox, source, ["", ""], { limits: { cpuMs: 5000 } });
      expect([source, ...outcomes.map((o) => o.stdout + o.stderr)]).toEqual([
        source,
        "100000\n",
        "100000\n",
      ]);
    }
  });
});

describe("the end of a program", () => {
  const cases: [string, string, string][] = [
    ["a clean end", "print(1)", "exited 0"],
    ["an exit code", "import sys; sys.exit(3)", "exited 3"],
    ["an exit message", "import sys; sys.exit('no')", "exited 1"],
    ["an exception", "1 / 0", "exited 1"],
    ["os._exit", "import os; os._exit(4)", "exited 4"],
    ["abort", "import os; os.abort()", "SIGABRT"],
    ["a bad address", "import ctypes; ctypes.string_at(1)", "SIGSEGV"],
    ["a syntax error", "def f(:\n  pass", "compile_error"],
    ["a null byte", "x = '\0'", "compile_error"],
    ["a busy loop", "while True: pass", "time_limit cpu"],
    [
      "a loop that catches everything",
      "while True:\n try:\n  while True: pass\n except BaseException: pass",
      "time_limit cpu",
    ],
    ["one long operation in C", "10 ** 10 ** 9", "time_limit cpu"],
    ["a sleep", "import time; time.sleep(99)", "time_limit wall"],
    [
      "a stop of itself",
      "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
      "time_limit wall",
    ],
    [
      "memory touched bit by bit",
      "x = []\nwhile True: x.append(bytearray(10 ** 6))",
      "memory_limit",
    ],
    ["memory asked for at once", "x = bytearray(10 ** 11)", "memory_limit"],
    [
      "shared memory",
      "import mmap\nx = []\nwhile True: x.append(mmap.mmap(-1, 10**7)); x[-1].write(b'a' * 10**7)",
      "memory_limit",
    ],
    ["endless output", "while True: print('x' * 1000)", "output_limit"],
    [
      "endless output past every error",
      "import os\nwhile True:\n try: os.write(1, b'x' * 65536)\n except OSError: pass",
      "output_limit",
    ],
    [
      "endless standard error",
      "import os\nwhile True: os.write(2, b'x' * 65536)",
      // It waits for its reader much of the time: either clock may end it.
      "time_limit",
    ],
  ];

  test.each(cases)("names %s", { timeout: 20_000 }, async (_, source, end) => {
    const limits = { cpuMs: 500, wallMs: 1500, memoryBytes: 128 * 2 ** 20, outputBytes: 2 ** 20 };
    expect(endOf(await runOne(sandbox, source, "", { limits }))).toMatch(new RegExp(`^${end}`));
    expect(await runOne(sandbox, "print(input())", "next")).toMatchObject({ stdout: "next\n" });
  });

  test("keeps the output printed before it, and the end of standard error", async () => {
    const source =
      "import sys\nprint('kept', flush=True)\nfor i in range(9999): print(i, file=sys.stderr)\nwhile True: pass";
    const outcome = await runOne(sandbox, source, "", { limits: { cpuMs: 300 } });
    expect(outcome.stdout).toBe("kept\n");
    expect(outcome.stderr).toMatch(/\n9998\n$/);
    expect(outcome.stderr.length).toBe(4096);
  });

  test("takes output of exactly the limit, and not a byte more", async () => {
    const print = (bytes: number) =>
      runOne(sandbox, `import os; os.write(1, b'x' * ${bytes})`, "", {
        limits: { outputBytes: 1000 },
      });
    expect(endOf(await print(1000))).toBe("exited 0");
    const over = await print(1001);
    expect([endOf(over), over.stdout.length]).toEqual(["output_limit", 1000]);
  });

  test("passes large inputs and outputs whole", async () => {
    const input = "x".repeat(3_000_000);
    const [first, second] = await runAll(sandbox, "print(input())", [input, "small"]);
    expect(first.stdout.length).toBe(3_000_001);
    expect(second.stdout).toBe("small\n");
  });

  test("counts time and memory", async () => {
    const source =
      "x = bytearray(50 * 2**20)\nwhile True:\n  import time\n  if time.process_time() > 0.4: break";
    const { cpuMs, wallMs, peakBytes } = await runOne(sandbox, source);
    expect(cpuMs).toBeGreaterThan(300);
    expect(wallMs).toBeGreaterThan(300);
    expect(peakBytes).toBeGreaterThan(50 * 2 ** 20);
  });
});

describe("tests in one process", () => {
  const isSuccess = (_: number, outcome: ProgramOutcome) =>
    outcome.end.kind === "exited" && outcome.end.exitCode === 0;

  test("are confirmed alone when they fail after others", async () => {
    // Breaks every later test of its own process.
    const source = "import builtins\nprint(input())\nbuiltins.input = None";
    const outcomes = await runAll(sandbox, source, ["a", "b", "c"], { isSuccess });
    expect(outcomes.map(({ stdout }) => stdout)).toEqual(["a\n", "b\n", "c\n"]);
    const unconfirmed = await runAll(sandbox, source, ["a", "b", "c"]);
    expect(unconfirmed.map(endOf)).toEqual(["exited 0", "exited 1", "exited 1"]);
  });

  test("keep real failures, each told once and in order", async () => {
    const told: number[] = [];
    const outcomes = await runAll(sandbox, "print(1 // int(input()))", ["1", "0", "1", "0", "0"], {
      isSuccess,
      onOutcome: (index) => told.push(index) > 0,
    });
    expect(outcomes.map(endOf)).toEqual([
      "exited 0",
      "exited 1",
      "exited 0",
      "exited 1",
      "exited 1",
    ]);
    expect(told).toEqual([0, 1, 2, 3, 4]);
  });

  test("stop where the caller says so", async () => {
    const onOutcome = (index: number) => index < 1;
    expect(await runAll(sandbox, "print(1)", ["", "", "", ""], { onOutcome })).toHaveLength(2);
  });

  test("go on in a new process after a death", async () => {
    const source = "import os\nx = input()\nif x == 'die': os._exit(7)\nprint(x)";
    const outcomes = await runAll(sandbox, source, ["a", "die", "b"], { isSuccess });
    expect(outcomes.map(endOf)).toEqual(["exited 0", "exited 7", "exited 0"]);
  });

  test("end at an abort", async () => {
    const abort = new AbortController();
    const run = runOne(sandbox, "import time; time.sleep(99)", "", {
      signal: abort.signal,
      limits: { wallMs: 99_000 },
    });
    setTimeout(() => abort.abort(new Error("enough")), 100);
    await expect(run).rejects.toThrow("enough");
    expect(await runOne(sandbox, "print(1)")).toMatchObject({ stdout: "1\n" });
  });
});

describe("a session", () => {
  const open = (source: string, limits = {}) =>
    sandbox.openSession({ role: "candidate", source, limits: { ...LIMITS, ...limits } });

  test("carries calls and results", async () => {
    const session = await open("def f(x): return x + 1");
    expect(await session.receive()).toEqual({
      kind: "message",
      message: '["ready",[["f","callable",""]]]',
    });
    session.send('["call","1",["name","f"],["l","i41"],["d"],false]');
    expect(JSON.stringify(await session.receive())).toContain("i42");
    await session.close();
  });

  test("ends at its limits and says which", async () => {
    const busy = await open("while True: pass", { cpuMs: 300 });
    expect(await busy.receive()).toMatchObject({
      kind: "ended",
      outcome: { end: { kind: "time_limit", clock: "cpu" } },
    });
    const asleep = await open("import time; time.sleep(99)", { wallMs: 500 });
    expect(await asleep.receive()).toMatchObject({
      kind: "ended",
      outcome: { end: { kind: "time_limit", clock: "wall" } },
    });
    const hungry = await open("x = []\nwhile True: x.append(bytearray(10**6))");
    expect(await hungry.receive()).toMatchObject({
      kind: "ended",
      outcome: { end: { kind: "memory_limit" } },
    });
    await Promise.all([busy.close(), asleep.close(), hungry.close()]);
  });

  test("prints nothing into the messages", async () => {
    const session = await open(
      "print('noise')\nimport os\nos.write(1, b'[\"forged\"]\\n')\ndef f(): pass",
    );
    expect(await session.receive()).toMatchObject({
      message: expect.stringContaining("ready") as string,
    });
    await session.close();
  });
});
