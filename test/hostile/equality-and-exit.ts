/** Exit and equality tricks (1–18): none of them may pass, and none of the suspects may fail. */
import {
  DOUBLE_ASSERT,
  DOUBLE_CALL,
  DOUBLE_CHECK,
  DOUBLE_STDIO,
  type HostileProgram,
} from "./hostile-program.js";

const RIGHT = "print(int(input()) * 2)\n";
const FALSE_EQUAL =
  "    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    __hash__ = None\n";

/** The programs. */
export const EQUALITY_AND_EXIT: HostileProgram[] = [
  {
    id: 1,
    what: "leaves by os._exit(0) while loading",
    tests: DOUBLE_ASSERT,
    program: "import os\nos._exit(0)\n",
    right: ["runtime_error"],
  },
  {
    id: 1,
    what: "leaves by os._exit(0) in the call",
    tests: DOUBLE_CALL,
    program: "import os\ndef double(x): os._exit(0)\n",
    right: ["runtime_error"],
  },
  {
    id: 2,
    what: "raises SystemExit while loading, asserts",
    tests: DOUBLE_ASSERT,
    program: "raise SystemExit\n",
    right: ["runtime_error"],
  },
  {
    id: 2,
    what: "raises SystemExit while loading, calls",
    tests: DOUBLE_CALL,
    program: "import sys\nsys.exit(0)\n",
    right: ["runtime_error"],
  },
  {
    id: 2,
    what: "exits without output",
    tests: DOUBLE_STDIO,
    program: "import sys\nsys.exit(0)\n",
    right: ["wrong_answer"],
  },
  {
    id: 3,
    what: "exits 0 from atexit after a failed assert",
    tests: DOUBLE_ASSERT,
    program: "import atexit, os\natexit.register(lambda: os._exit(0))\ndef double(x): return 0\n",
    right: ["wrong_answer"],
  },
  {
    id: 4,
    what: "replaces sys.excepthook by an exit 0",
    tests: DOUBLE_ASSERT,
    program:
      "import sys, os\nsys.excepthook = lambda *a: os._exit(0)\ndef double(x): raise ValueError\n",
    right: ["runtime_error"],
  },
  {
    id: 5,
    what: "right output, then an exception",
    tests: DOUBLE_STDIO,
    program: RIGHT + "raise ValueError\n",
    right: ["runtime_error"],
  },
  {
    id: 5,
    what: "right output, then exit code 1",
    tests: DOUBLE_STDIO,
    program: RIGHT + "raise SystemExit(1)\n",
    right: ["runtime_error"],
  },
  {
    id: 6,
    what: "right output, then abort",
    tests: DOUBLE_STDIO,
    program: "import os, sys\n" + RIGHT + "sys.stdout.flush()\nos.abort()\n",
    right: ["runtime_error"],
  },
  {
    id: 7,
    what: "right output, then exit()",
    tests: DOUBLE_STDIO,
    program: RIGHT + "exit()\n",
    right: ["accepted"],
  },
  {
    id: 7,
    what: "right output, then quit()",
    tests: DOUBLE_STDIO,
    program: RIGHT + "quit()\n",
    right: ["accepted"],
  },
  {
    id: 7,
    what: "right output, then sys.exit()",
    tests: DOUBLE_STDIO,
    program: "import sys\n" + RIGHT + "sys.exit()\n",
    right: ["accepted"],
  },
  {
    id: 8,
    what: "right output, then an endless loop",
    tests: DOUBLE_STDIO,
    program: "import sys\n" + RIGHT + "sys.stdout.flush()\nwhile True: pass\n",
    right: ["time_limit"],
  },
  {
    id: 8,
    what: "right output, then sleep",
    tests: DOUBLE_STDIO,
    program: "import sys, time\n" + RIGHT + "sys.stdout.flush()\ntime.sleep(60)\n",
    right: ["time_limit"],
  },
  {
    id: 9,
    what: "returns an object that equals everything, asserts",
    tests: DOUBLE_ASSERT,
    program: `class Yes:\n${FALSE_EQUAL}def double(x): return Yes()\n`,
    right: ["wrong_answer"],
  },
  {
    id: 9,
    what: "returns an object that equals everything, calls",
    tests: DOUBLE_CALL,
    program: `class Yes:\n${FALSE_EQUAL}def double(x): return Yes()\n`,
    right: ["runtime_error"],
  },
  ...["int", "float", "str", "list", "dict"].flatMap((base) =>
    [DOUBLE_ASSERT, DOUBLE_CALL].map((tests): HostileProgram => ({
      id: 10,
      what: `returns a ${base} that equals everything, ${tests.kind}`,
      tests,
      program: `class Yes(${base}):\n${FALSE_EQUAL}def double(x): return Yes()\n`,
      right: ["wrong_answer"],
    })),
  ),
  {
    id: 11,
    what: "lies about its class",
    tests: DOUBLE_ASSERT,
    program: `class Meta(type):\n    def __eq__(self, other): return True\n    __hash__ = type.__hash__\nclass Yes(metaclass=Meta):\n    __class__ = property(lambda self: int)\n${FALSE_EQUAL}def double(x): return Yes()\n`,
    right: ["wrong_answer"],
  },
  {
    id: 12,
    what: "patches the built-ins, and is right",
    tests: DOUBLE_CALL,
    program:
      "import builtins, json, sys\njson.dumps = lambda *a, **k: '42'\nfor name in ('print', 'isinstance', 'all', 'len', 'open', 'repr', 'type', 'issubclass'):\n    setattr(builtins, name, lambda *a, **k: True)\nbuiltins.__import__ = None\nsys.stdout = None\ndef double(x): return x * 2\n",
    right: ["accepted"],
  },
  {
    id: 12,
    what: "patches the built-ins, and is wrong",
    tests: DOUBLE_ASSERT,
    program:
      "import builtins\nfor name in ('isinstance', 'all', 'len', 'repr', 'type', 'issubclass', 'hasattr'):\n    setattr(builtins, name, lambda *a, **k: True)\ndef double(x): return 0\n",
    right: ["wrong_answer", "runtime_error"],
  },
  {
    id: 13,
    what: "replaces AssertionError",
    tests: DOUBLE_ASSERT,
    program:
      "import builtins\nbuiltins.AssertionError = type('Quiet', (BaseException,), {})\n__debug__ = None if False else None\ndef double(x): return 0\n".replace(
        "__debug__ = None if False else None\n",
        "",
      ),
    right: ["wrong_answer"],
  },
  {
    id: 13,
    what: "patches unittest",
    tests: DOUBLE_ASSERT,
    program:
      "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\ndef double(x): return 0\n",
    right: ["wrong_answer", "runtime_error"],
  },
  {
    id: 14,
    what: "marks the tests as skipped, as pytest would read it",
    tests: DOUBLE_CHECK,
    program:
      "pytestmark = 'skip'\ncollect_ignore_glob = ['*']\ndef pytest_collection_modifyitems(items): items.clear()\ndef double(x): return 0\n",
    right: ["wrong_answer"],
  },
  {
    id: 15,
    what: "redefines check",
    tests: DOUBLE_CHECK,
    program: "check = lambda f: None\ndef double(x): return 0\n",
    right: ["wrong_answer"],
  },
  {
    id: 15,
    what: "replaces itself in the caller's names",
    tests: DOUBLE_ASSERT,
    program:
      "import sys\ndef double(x):\n    f = sys._getframe()\n    while f:\n        f.f_globals['assert'] = f.f_globals['tests'] = None\n        f = f.f_back\n    return 0\n",
    right: ["wrong_answer", "runtime_error"],
  },
  {
    id: 16,
    what: "starts with a future import",
    tests: DOUBLE_STDIO,
    program: "from __future__ import annotations\n" + RIGHT,
    right: ["accepted"],
  },
  {
    id: 16,
    what: "starts with a future import, called",
    tests: DOUBLE_CALL,
    program: "from __future__ import annotations\ndef double(x: List[int]): return x * 2\n",
    right: ["accepted"],
  },
  {
    id: 17,
    what: "uses global, a main guard and recursion",
    tests: DOUBLE_STDIO,
    program:
      "total = 0\ndef add(n):\n    global total\n    total += n\ndef main():\n    n = int(input())\n    add(n); add(n)\n    print(total)\nif __name__ == '__main__':\n    main()\n",
    right: ["accepted"],
  },
  {
    id: 17,
    what: "runs main in a thread with a big stack",
    tests: DOUBLE_STDIO,
    program:
      "import sys, threading\nthreading.stack_size(64 * 1024 * 1024)\nsys.setrecursionlimit(10**6)\ndef main(): print(int(input()) * 2)\nt = threading.Thread(target=main)\nt.start()\nt.join()\n",
    right: ["accepted"],
  },
  {
    id: 18,
    what: "defines class Solution only",
    tests: DOUBLE_CALL,
    program: "class Solution:\n    def double(self, x): return x * 2\n",
    right: ["accepted"],
  },
  {
    id: 18,
    what: "defines a static method of Solution",
    tests: DOUBLE_CALL,
    program: "class Solution:\n    @staticmethod\n    def double(x): return x * 2\n",
    right: ["accepted"],
  },
  {
    id: 18,
    what: "defines both the function and class Solution",
    tests: DOUBLE_CALL,
    program:
      "class Solution:\n    def double(self, x): return x * 2\ndef double(x): return Solution().double(x)\n",
    right: ["accepted"],
  },
];
