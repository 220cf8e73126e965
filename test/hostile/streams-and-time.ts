/** Output, input and time (35–56). */
import { DOUBLE_STDIO, type HostileProgram, printing } from "./hostile-program.js";

const RIGHT = "print(int(input()) * 2)\n";
const double = (
  id: number,
  what: string,
  program: string,
  ...right: HostileProgram["right"]
): HostileProgram => ({ id, what, tests: DOUBLE_STDIO, program, right });
const prints = (
  id: number,
  what: string,
  expected: string,
  program: string,
  ...right: HostileProgram["right"]
): HostileProgram => ({ id, what, tests: printing(expected), program, right });

/** The programs. */
export const STREAMS_AND_TIME: HostileProgram[] = [
  prints(
    35,
    "prints a megabyte",
    "0123456789\n".repeat(100_000),
    "for _ in range(100000): print('0123456789')\n",
    "accepted",
  ),
  double(36, "prints without end", "while True: print('1234567890' * 100)\n", "output_limit"),
  double(
    37,
    "writes megabytes of warnings",
    "import sys\nfor _ in range(3000): print('w' * 1000, file=sys.stderr)\n" + RIGHT,
    "accepted",
  ),
  prints(
    38,
    "prints CRLF and blanks at line ends",
    "1\n2\n",
    "import sys\nsys.stdout.buffer.write(b'\\xef\\xbb\\xbf1 \\r\\n2\\t\\r\\n\\r\\n')\n",
    "accepted",
  ),
  prints(
    38,
    "prints NUL bytes",
    "1\n",
    "import sys\nsys.stdout.buffer.write(b'1\\x00\\n')\n",
    "wrong_answer",
  ),
  prints(
    39,
    "prints what is not UTF-8",
    "ok\n",
    "import sys\nsys.stdout.buffer.write(b'\\xff\\xfe ok')\n",
    "wrong_answer",
  ),
  prints(
    39,
    "splits a character over two writes",
    "\u2713\n",
    "import os\nfor b in '\u2713\\n'.encode(): os.write(1, bytes([b]))\n",
    "accepted",
  ),
  prints(40, "prints terminal codes", "1\n", "print('\\x1b[2J\\x1b[31m1')\n", "wrong_answer"),
  prints(40, "prints one line of 30 MB", "1\n", "print('1' * 30_000_000)\n", "output_limit"),
  double(
    41,
    "closes standard output",
    "import os\nos.close(1)\ninput()\n",
    "wrong_answer",
    "runtime_error",
  ),
  double(
    41,
    "points standard output elsewhere",
    "import os\nr, w = os.pipe()\nos.dup2(w, 1)\nprint(int(input()) * 2)\n",
    "wrong_answer",
    "runtime_error",
  ),
  {
    id: 42,
    what: "never reads ten megabytes",
    tests: printing("ok\n", "7\n".repeat(5_000_000)),
    program: "print('ok')\n",
    right: ["accepted"],
  },
  double(43, "reads past the end", "input(); input()\n", "runtime_error"),
  ...[
    "import sys\nprint(sum(int(l) for l in sys.stdin) * 2)\n",
    "print(int(open(0).read()) * 2)\n",
    "import os\nprint(int(os.read(0, 100)) * 2)\n",
    "import sys\nprint(int(sys.stdin.buffer.read()) * 2)\n",
    "import fileinput\nprint(int(next(fileinput.input())) * 2)\n",
    "import os\nos.write(1, b'%d\\n' % (int(input()) * 2))\n",
    "import sys\nsys.stdout.buffer.write(b'%d\\n' % (int(input()) * 2))\n",
    "import sys\nsys.stdout.write(str(int(sys.stdin.readline()) * 2))\n",
  ].map((program) =>
    double(44, `reads and writes by ${program.trim().split("\n").pop()}`, program, "accepted"),
  ),
  double(
    45,
    "prints slowly",
    "import sys, time\nfor c in str(int(input()) * 2):\n    sys.stdout.write(c); sys.stdout.flush(); time.sleep(0.1)\n",
    "accepted",
  ),
  double(46, "prompts for its input", "print(int(input('Enter n: ')) * 2)\n", "wrong_answer"),
  double(47, "loops", "while True: pass\n", "time_limit"),
  double(47, "sleeps", "import time\ntime.sleep(100)\n", "time_limit"),
  double(
    47,
    "waits for a lock",
    "import threading\nl = threading.Lock()\nl.acquire()\nl.acquire()\n",
    "time_limit",
  ),
  double(
    48,
    "ignores every signal",
    "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\ntry: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nexcept Exception: pass\nwhile True: pass\n",
    "time_limit",
  ),
  double(
    49,
    "catches everything around its loop",
    "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n",
    "time_limit",
  ),
  double(
    50,
    "hangs inside C: power",
    "print(len(str(10 ** 10 ** 8)))\n",
    "time_limit",
    "memory_limit",
    "runtime_error",
  ),
  double(50, "hangs inside C: sum", "print(sum(range(10 ** 12)))\n", "time_limit"),
  double(
    50,
    "hangs inside C: regular expression",
    "import re\nre.match('(a+)+$', 'a' * 40 + 'b')\n",
    "time_limit",
  ),
  double(
    51,
    "stops itself",
    "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nprint(1)\n",
    "time_limit",
    "runtime_error",
    "wrong_answer",
  ),
  double(
    52,
    "burns time in threads",
    "import threading\ndef burn():\n    while True: hash('x')\nfor _ in range(16): threading.Thread(target=burn).start()\n",
    "time_limit",
    "runtime_error",
  ),
  double(
    53,
    "burns time in a child",
    "import os, time\nif os.fork() == 0:\n    while True: pass\ntime.sleep(60)\n",
    "time_limit",
    "runtime_error",
  ),
  double(
    54,
    "patches the clock",
    "import time\ntime.time = time.monotonic = time.perf_counter = lambda: 0\nwhile True: pass\n",
    "time_limit",
  ),
  double(
    55,
    "uses most of its limit",
    "import time\nwhile time.process_time() < 0.2: pass\n" + RIGHT,
    "accepted",
  ),
  ...[
    "template<int n> struct F { static const int v = F<n-1>::v + F<n-2>::v + F<n+1>::v; };\nint main() { return F<900>::v; }\n",
    '#include "/dev/zero"\nint main() {}\n',
    '#include "/etc/passwd"\nint main() {}\n',
    "constexpr int f(int n) { int s = 0; for (long i = 0; i < 1000000000000L; i++) s += i; return s; }\nstatic_assert(f(1) == 1);\nint main() {}\n",
  ].map((program): HostileProgram => ({
    id: 56,
    what: `bombs the compiler: ${program.split("\n")[0].slice(0, 30)}`,
    tests: DOUBLE_STDIO,
    program,
    language: "cpp",
    right: ["compile_error", "time_limit"],
  })),
];
