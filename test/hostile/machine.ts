/** Memory, processes, disk and the rest of the machine (57–76), other languages (91–94). */
import { DOUBLE_STDIO, type HostileProgram, printing } from "./hostile-program.js";

const RIGHT = "print(int(input()) * 2)\n";
const double = (
  id: number,
  what: string,
  program: string,
  ...right: HostileProgram["right"]
): HostileProgram => ({ id, what, tests: DOUBLE_STDIO, program, right });
const attempt = (body: string) =>
  `try:\n${body
    .trimEnd()
    .split("\n")
    .map((line) => `    ${line}`)
    .join("\n")}\nexcept BaseException: pass\n${RIGHT}`;

/** The programs; they are run where isolation holds, never in the plain sandbox. */
export const MACHINE: HostileProgram[] = [
  double(
    57,
    "allocates without end",
    "a = []\nwhile True: a.append(bytearray(10**6))\n",
    "memory_limit",
    "runtime_error",
  ),
  double(
    58,
    "reserves a terabyte without touching it",
    attempt("import mmap\nmmap.mmap(-1, 1 << 40)"),
    "accepted",
  ),
  double(
    59,
    "fills the page cache by files",
    "with open('big', 'wb') as f:\n    while True: f.write(b'0' * 10**6)\n",
    "runtime_error",
    "memory_limit",
    "output_limit",
    "time_limit",
  ),
  double(
    60,
    "allocates in children",
    "import os, time\nfor _ in range(50):\n    if os.fork() == 0:\n        a = bytearray(200 * 10**6)\n        for i in range(0, len(a), 4096): a[i] = 1\n        time.sleep(30)\ntime.sleep(30)\n",
    "memory_limit",
    "runtime_error",
    "time_limit",
  ),
  double(
    61,
    "recurses 50,000 deep",
    "import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nassert f(50000) == 50000\n" +
      RIGHT,
    "accepted",
  ),
  double(
    62,
    "nests brackets 100,000 deep",
    "(".repeat(100_000) + ")".repeat(100_000) + "\n",
    "compile_error",
    "runtime_error",
    "memory_limit",
  ),
  double(
    62,
    "has a million lines",
    "x = 1\n".repeat(200_000) + RIGHT,
    "accepted",
    "compile_error",
    "memory_limit",
    "time_limit",
  ),
  double(
    63,
    "is a fork bomb",
    "import os\nwhile True: os.fork()\n",
    "runtime_error",
    "time_limit",
    "memory_limit",
  ),
  double(
    64,
    "leaves a daemon",
    "import os, time\n" +
      attempt(
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.closerange(0, 64)\n        time.sleep(60)\n    os._exit(0)",
      ),
    "accepted",
    "runtime_error",
  ),
  double(
    65,
    "leaves a child with its standard output",
    "import subprocess, sys\n" +
      attempt("subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"),
    "accepted",
    "runtime_error",
  ),
  double(
    66,
    "makes zombies",
    "import os\n" + attempt("for _ in range(1000):\n    if os.fork() == 0: os._exit(0)"),
    "accepted",
    "runtime_error",
  ),
  double(
    67,
    "kills everything it may",
    "import os, signal\n" +
      attempt("os.kill(os.getppid(), 9)") +
      "".concat(attempt("os.kill(-1, 9)")).replace(RIGHT, ""),
    "accepted",
    "runtime_error",
  ),
  double(
    68,
    "replaces itself by a shell",
    "import os\nos.execv('/bin/sh', ['python3', '-c', 'sleep 60'])\n",
    "runtime_error",
    "time_limit",
  ),
  double(
    69,
    "fills the disk",
    "import os\nfor i in range(10**6): open(f'f{i}', 'w').write('x')\n",
    "runtime_error",
    "time_limit",
    "memory_limit",
    "output_limit",
  ),
  double(
    69,
    "makes a sparse file of an exabyte",
    "with open('s', 'wb') as f: f.truncate(1 << 60)\n",
    "runtime_error",
    "output_limit",
    "wrong_answer",
  ),
  double(
    70,
    "takes away the right to its folder",
    "import os\n" + attempt("os.chmod('.', 0)"),
    "accepted",
    "runtime_error",
  ),
  double(
    71,
    "plants links and pipes",
    "import os\n" + attempt("os.symlink('/etc/passwd', 'link')\nos.mkfifo('fifo')"),
    "accepted",
  ),
  double(
    72,
    "writes into the interpreter",
    "import os\nn = 0\nfor p in (os.__file__, os.path.dirname(os.__file__) + '/usercustomize.py', '/usr/lib/python3/dist-packages/x.pth'):\n    try:\n        open(p, 'a').close()\n        n += 1\n    except OSError: pass\nassert n == 0\n" +
      RIGHT,
    "accepted",
    "runtime_error",
  ),
  double(
    73,
    "opens 100,000 descriptors",
    "import os\n" + attempt("while True: os.dup(0)"),
    "accepted",
  ),
  double(
    73,
    "asks for odd kernel services",
    attempt(
      "import ctypes\nlibc = ctypes.CDLL(None)\nfor nr in (425, 323, 298, 321, 272, 250): libc.syscall(nr, 0, 0, 0, 0)",
    ),
    "accepted",
    "runtime_error",
  ),
  double(
    74,
    "asks for priority",
    "import os\n" +
      attempt("os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))\nos.nice(-20)"),
    "accepted",
  ),
  double(75, "dumps core", "import os\nos.abort()\n", "runtime_error"),
  double(76, "asks for the number of cores", "import os\nos.cpu_count()\n" + RIGHT, "accepted"),
  double(
    91,
    "catches MemoryError and guesses",
    "try:\n    a = []\n    while True: a.append(bytearray(10**6))\nexcept MemoryError:\n    print(0)\n",
    "wrong_answer",
    "memory_limit",
    "runtime_error",
  ),
  {
    id: 92,
    what: "runs a shell from C++",
    tests: DOUBLE_STDIO,
    program:
      '#include <cstdlib>\n__attribute__((constructor)) void f() { std::system("cat /etc/passwd"); }\nint main() { setenv("LD_PRELOAD", "/tmp/x.so", 1); return 0; }\n',
    language: "cpp",
    right: ["wrong_answer", "runtime_error"],
  },
  {
    id: 93,
    what: "exits from JavaScript",
    tests: DOUBLE_STDIO,
    program: "process.exit(0)\n",
    language: "javascript",
    right: ["wrong_answer"],
  },
  {
    id: 93,
    what: "pollutes prototypes and never settles",
    tests: DOUBLE_STDIO,
    program:
      "Object.prototype.toString = () => '6'; Array.prototype.join = () => '6'; await new Promise(() => {})\n",
    language: "javascript",
    right: ["wrong_answer", "runtime_error", "compile_error", "time_limit"],
  },
  {
    id: 94,
    what: "halts Java",
    tests: DOUBLE_STDIO,
    program:
      "public class Main { static { Runtime.getRuntime().halt(0); } public static void main(String[] a) {} }\n",
    language: "java",
    right: ["wrong_answer"],
  },
  {
    id: 94,
    what: "panics in Rust",
    tests: DOUBLE_STDIO,
    program:
      'fn main() { std::thread::spawn(|| panic!("x")).join().ok(); std::process::exit(0) }\n',
    language: "rust",
    right: ["wrong_answer"],
  },
  {
    id: 94,
    what: "exits in Go's init",
    tests: DOUBLE_STDIO,
    program: 'package main\nimport "os"\nfunc init() { os.Exit(0) }\nfunc main() {}\n',
    language: "go",
    right: ["wrong_answer"],
  },
  {
    id: 76,
    what: "starts a pool of 192 threads",
    tests: printing("ok\n"),
    program:
      "import threading\nts = []\ntry:\n    for _ in range(192):\n        t = threading.Thread(target=lambda: None)\n        t.start(); ts.append(t)\nexcept RuntimeError: pass\nfor t in ts: t.join()\nprint('ok')\n",
    right: ["accepted"],
  },
];
