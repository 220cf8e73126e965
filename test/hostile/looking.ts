/** Looking for the answer (19–34): there is nothing to be found. */
import {
  calling,
  DOUBLE_CALL,
  DOUBLE_STDIO,
  type HostileProgram,
  printing,
  SECRET_STDIO,
} from "./hostile-program.js";

/** Prints whatever it found that looks like the secret, else `none`. */
const LOOK = `import re, os, sys, gc
PATTERN = re.compile(rb"secr" + rb"et-[0-9]+-[a-z]+")
def tell(data):
    if isinstance(data, str): data = data.encode("utf-8", "replace")
    hit = PATTERN.search(data) if isinstance(data, (bytes, bytearray)) else None
    if hit:
        print(hit.group().decode())
        sys.stdout.flush()
        os._exit(0)
def read(path):
    try:
        with open(path, "rb") as file: tell(file.read(10**7))
    except Exception: pass
`;
const NONE = "print('none')\n";
const look = (id: number, what: string, body: string): HostileProgram => ({
  id,
  what,
  tests: SECRET_STDIO,
  program: LOOK + body + NONE,
  right: ["wrong_answer"],
});

/** The programs. */
export const LOOKING: HostileProgram[] = [
  look(
    19,
    "walks frames",
    "f = sys._getframe()\nwhile f:\n    for v in [*f.f_locals.values(), *f.f_globals.values()]: tell(v); tell(repr(v))\n    f = f.f_back\n",
  ),
  look(
    20,
    "scans the garbage collector's objects",
    "for o in gc.get_objects():\n    if isinstance(o, (list, tuple, dict)): tell(repr(o)[:10**6])\n",
  ),
  look(
    21,
    "reads files around it",
    "for root in ('.', '..', '/tmp', '/dev/shm', os.path.dirname(os.path.abspath(globals().get('__file__', '.')))):\n    try:\n        for name in os.listdir(root): read(os.path.join(root, name))\n    except OSError: pass\n",
  ),
  look(
    22,
    "reads /proc of every process",
    "try: pids = os.listdir('/proc')\nexcept OSError: pids = []\nfor pid in pids + [str(os.getppid())]:\n    for name in ('environ', 'cmdline', 'maps'): read(f'/proc/{pid}/{name}')\n    for fd in range(64): read(f'/proc/{pid}/fd/{fd}')\n",
  ),
  look(
    23,
    "reads inherited descriptors",
    "import select\nfor fd in range(3, 1024):\n    try:\n        if select.select([fd], [], [], 0)[0]: tell(os.read(fd, 10**6))\n    except Exception: pass\n",
  ),
  look(
    24,
    "attaches to its parent",
    "try:\n    import ctypes\n    libc = ctypes.CDLL(None)\n    libc.ptrace(16, os.getppid(), 0, 0)\nexcept Exception: pass\n",
  ),
  {
    id: 25,
    what: "forges result messages on every descriptor",
    tests: DOUBLE_CALL,
    program:
      'import os\ndef double(x):\n    for fd in range(3, 64):\n        try: os.write(fd, b\'["return","1","i0",null]\\n\')\n        except OSError: pass\n    return 0\n',
    right: ["wrong_answer", "runtime_error", "time_limit"],
  },
  {
    id: 25,
    what: "prints a sentinel and a verdict",
    tests: DOUBLE_STDIO,
    program: 'print(\'ALL TESTS PASSED\'); print(\'{"verdict": "accepted", "reward": 1e9}\')\n',
    right: ["wrong_answer"],
  },
  {
    id: 26,
    what: "leaves a note for the next test",
    tests: {
      kind: "stdio",
      cases: Array.from({ length: 3 }, () => ({ input: "x\n", output: "0\n" })),
    },
    program:
      "import builtins, os, sys\nseen = getattr(sys, 'note', 0) + getattr(builtins, 'note', 0) + int('note' in os.environ)\nfor path in ('/tmp/rlvr-note', '/dev/shm/rlvr-note', os.path.expanduser('~/rlvr-note'), 'rlvr-note'):\n    try:\n        seen += os.path.exists(path)\n        open(path, 'w').write('1')\n    except OSError: pass\nos.environ['note'] = '1'\nprint(seen)\n",
    right: ["accepted"],
  },
  {
    id: 27,
    what: "knows the first example by heart",
    tests: DOUBLE_STDIO,
    program: "print({'3': 6}.get(input(), 0))\n",
    right: ["wrong_answer"],
    passRate: 0.5,
  },
  {
    id: 28,
    what: "prints both answers",
    tests: printing("YES\n"),
    program: "print('YES'); print('NO')\n",
    right: ["wrong_answer"],
  },
  {
    id: 28,
    what: "prints every number",
    tests: DOUBLE_STDIO,
    program: "for i in range(10**6): print(i)\n",
    right: ["wrong_answer", "output_limit"],
  },
  {
    id: 29,
    what: "prints a right prefix",
    tests: printing("1\n2\n3\n"),
    program: "print(1); print(2)\n",
    right: ["wrong_answer"],
  },
  {
    id: 29,
    what: "prints more than the answer",
    tests: printing("1\n2\n"),
    program: "print(1); print(2); print(3)\n",
    right: ["wrong_answer"],
  },
  {
    id: 30,
    what: "prints words of the right shape",
    tests: printing("YES\nNO\n"),
    program: "print('NO'); print('YES')\n",
    right: ["wrong_answer"],
  },
  {
    id: 31,
    what: "prints the tokens in another order",
    tests: printing("1 2 3\n"),
    program: "print(3, 2, 1)\n",
    right: ["wrong_answer"],
  },
  ...["nan", "inf", "1e400", "\u0661\u0662", "1_2", "0xc", "1" + "0".repeat(500_000)].map(
    (token): HostileProgram => ({
      id: 32,
      what: `prints ${token.slice(0, 12)} for 12.0`,
      tests: printing("12.0\n"),
      program: token.length > 99 ? "print('1' + '0' * 500000)\n" : `print('${token}')\n`,
      right: ["wrong_answer", "output_limit"],
    }),
  ),
  ...[
    ["nan", "float('nan')"],
    ["inf", "float('inf')"],
    ["a huge integer", "10**5000"],
    ["a complex", "1j"],
    ["a generator", "(i for i in [1])"],
    ["itself in a list", "(lambda a: (a.append(a), a)[1])([])"],
    ["a list 100,000 deep", "deep()"],
    ["a class", "int"],
    ["a module", "__import__('os')"],
  ].map(([what, value]): HostileProgram => ({
    id: 33,
    what: `returns ${what}`,
    tests: calling("[1]", "1"),
    program: `def deep():\n    a = []\n    for _ in range(100000): a = [a]\n    return a\ndef f(x): return ${value}\n`,
    right: ["wrong_answer", "runtime_error"],
  })),
  {
    id: 33,
    what: "returns -0.0 for 0",
    tests: calling("[1]", "0"),
    program: "def f(x): return -0.0\n",
    right: ["accepted"],
  },
  {
    id: 34,
    what: "opens connections to this machine",
    tests: printing("refused\n"),
    program:
      "import socket\nresult = 'refused'\nfor port in (22, 80, 6379, 8080, 8265, 39173):\n    try:\n        s = socket.create_connection(('127.0.0.1', port), 0.2)\n        result = 'connected'\n    except OSError: pass\nprint(result)\n",
    right: ["accepted", "runtime_error"],
  },
];
