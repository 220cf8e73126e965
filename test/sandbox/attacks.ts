/**
 * Programs that try to cheat, escape, or take more than their share.
 *
 * A program prints WON where it got what it must not get. `end` is how its first run may end; where
 * the system merely refuses what it tries, that is the natural end of the rest of it.
 */

/** One hostile program. */
export interface Attack {
  name: string;
  source: string;
  /** Python where absent. */
  language?: string;
  /** What the end has to match, as `endOf` says it. */
  end: RegExp;
}

const EXITED = /^exited/;
const ENDED = /^(exited|SIG|time_limit|memory_limit|output_limit)/;
const TIME = /^time_limit/;

/** Tries a Python statement, and cries WON when nothing stopped it. */
const tries = (statement: string, setUp = "") =>
  `import os, sys, socket, ctypes, signal\n${setUp}\ntry:\n    ${statement.replaceAll("\n", "\n    ")}\n    print("WON")\n` +
  `except BaseException as error:\n    print("refused", type(error).__name__)\n`;

/** Makes a system call by its number on x86-64; answers success. */
const call = (number: number, ...args: (number | string)[]) =>
  `if ctypes.CDLL(None).syscall(${[number, ...args].join(", ")}) < 0: raise OSError()`;

const refused = (name: string, statement: string, setUp = ""): Attack => ({
  name,
  source: tries(statement, setUp),
  end: EXITED,
});

const NETWORK: Attack[] = [
  refused("TCP", "socket.create_connection(('127.0.0.1', 22), 1)"),
  refused("UDP", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))"),
  refused("listening", "socket.create_server(('127.0.0.1', 0))"),
  refused("a unix socket", "socket.socket(socket.AF_UNIX).connect('/run/docker.sock')"),
  refused("an abstract socket", "socket.socket(socket.AF_UNIX).bind('\\0rlvr')"),
  refused("a raw socket", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
  refused("netlink", "socket.socket(16, socket.SOCK_RAW)"),
  refused("a name look-up", "socket.getaddrinfo('localhost.localdomain.invalid', 80)"),
];

const FILES: Attack[] = [
  refused("reading /etc/passwd", "open('/etc/passwd').read()"),
  refused("reading the root folder", "os.listdir('/')"),
  refused("reading /tmp", "os.listdir('/tmp')"),
  refused("reading its own source", "open(__file__).read()"),
  refused("reading the sandbox's source", "open(sys._getframe(1).f_code.co_filename).read()"),
  refused("importing the sandbox", "import tests_job"),
  refused("importing the server", "import server"),
  refused("writing to /tmp", "open('/tmp/rlvr-note', 'w').write('x')"),
  refused("writing to /dev/shm", "open('/dev/shm/rlvr-note', 'w').write('x')"),
  refused("writing to the library", "open(os.path.dirname(os.__file__) + '/rlvr.py', 'w')"),
  refused(
    "filling /tmp",
    "for i in range(10**6): open(f'/tmp/rlvr-{i}', 'wb').write(bytes(10**6))",
  ),
  refused("making folders", "os.makedirs('/tmp/rlvr/' * 100)"),
  refused("removing a file", "os.unlink('/etc/hostname')"),
  refused("changing rights", "os.chmod('/tmp', 0o777)"),
  refused("a link", "os.symlink('/etc/passwd', '/tmp/rlvr-link')"),
  refused("truncating", "os.truncate('/etc/hostname', 0)"),
  refused("a file in memory", "os.memfd_create('x')"),
  refused(
    "shared memory",
    "from multiprocessing import shared_memory\nshared_memory.SharedMemory('rlvr', True, 100)",
  ),
  refused("System V shared memory", call(29, 1234, 100, 0o1666)),
  refused("a message queue", call(240, "b'/rlvr'", 0o102, 0o666, 0)),
  refused("the memory of the parent", "open(f'/proc/{os.getppid()}/mem', 'rb')"),
  refused("the environment of the parent", "open(f'/proc/{os.getppid()}/environ', 'rb').read()"),
  refused("the descriptors of the parent", "os.listdir(f'/proc/{os.getppid()}/fd')"),
  refused("other processes", "os.listdir('/proc')"),
  refused("mounting", call(165, "b'none'", "b'/tmp'", "b'tmpfs'", 0, 0)),
  refused("a new root", "os.chroot('/usr')"),
];

const PROCESSES: Attack[] = [
  refused("fork", "os.fork() or os._exit(0)"),
  refused("vfork by number", call(58)),
  refused("clone3", call(435, 0, 0)),
  refused("a subprocess", "import subprocess\nsubprocess.run(['/bin/true'])"),
  refused("a shell", "if os.system('true'): raise OSError()"),
  refused("exec", "os.execv('/bin/sh', ['sh', '-c', 'echo WON'])"),
  refused(
    "multiprocessing",
    "from multiprocessing import Process\np = Process(target=print); p.start(); p.join()",
  ),
  refused("posix_spawn", "os.posix_spawn('/bin/true', ['true'], {})"),
  refused("killing its parent", "os.kill(os.getppid(), signal.SIGKILL)"),
  refused("stopping its parent", "os.kill(os.getppid(), signal.SIGSTOP)"),
  refused("killing everybody", "os.kill(-1, signal.SIGKILL)"),
  refused("killing its group", "os.killpg(0, 0)"),
  refused("a pidfd", "os.pidfd_open(os.getppid())"),
  refused("tracing its parent", call(101, "0x4206", "os.getppid()", 0, 0)),
  refused("writing into its parent", call(311, "os.getppid()", 0, 0, 0, 0, 0)),
  refused(
    "signals by a descriptor's owner",
    "import fcntl\nfcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())",
  ),
  refused("signals by a queue", call(129, "os.getppid()", 9, 0)),
  refused(
    "limits of its parent",
    "import resource\nresource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
  ),
  refused("its own limits", "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))"),
  refused("its priority", "os.nice(-5)"),
  refused("a real-time schedule", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"),
  refused("the processors it runs on", "os.sched_setaffinity(0, {0})"),
  refused("another user", "os.setuid(0) if os.getuid() else os.setuid(1)"),
  refused("a new session", "os.setsid()"),
  refused("user namespaces", call(272, "0x10000000")),
  refused("a process's options", call(157, 1, 0, 0, 0, 0)),
  refused("its dumpable flag", call(157, 4, 1, 0, 0, 0)),
  refused("io_uring", call(425, 1, "ctypes.create_string_buffer(120)")),
  refused("bpf", call(321, 0, 0, 0)),
  refused("user faults", call(323, 0)),
  refused("keyrings", call(250, 0, 0, 0)),
  refused("performance events", call(298, 0, 0, -1, -1, 0)),
  refused("kernel modules", call(175, 0, 0, "b''")),
  refused("restarting the machine", call(169, 0, 0, 0, 0)),
  refused("a second filter", call(317, 1, 0, 0)),
  refused("locking memory", call(149, 0, 4096)),
  refused("injecting into a terminal", "import fcntl\nfcntl.ioctl(0, 0x5412, b'x')"),
];

const CHEATS: Attack[] = [
  { name: "exit before the tests", source: "import os; os._exit(0)", end: /^exited 0$/ },
  { name: "SystemExit", source: "raise SystemExit", end: /^exited 0$/ },
  {
    name: "exit in an exit handler",
    source: "import atexit, os\natexit.register(os._exit, 0)\nprint('no')\n1 / 0",
    end: EXITED,
  },
  {
    name: "an exception hook that exits",
    source: "import sys, os\nsys.excepthook = lambda *a: os._exit(0)\n1 / 0",
    end: EXITED,
  },
  {
    name: "right output, then a crash",
    source: "import ctypes\nprint(1, flush=True)\nctypes.string_at(1)",
    end: /^SIGSEGV$/,
  },
  {
    name: "right output, then an endless loop",
    source: "print(1, flush=True)\nwhile True: pass",
    end: TIME,
  },
  {
    name: "forged reports on every descriptor",
    source:
      "import os\nfor fd in range(3, 1024):\n  for text in (b'D\\0\\0\\0\\0\\0\\0\\0', b'C' + bytes(7), b'{\"done\":true}\\n'):\n    try: os.write(fd, text)\n    except OSError: pass",
    end: ENDED,
  },
  {
    name: "closing every descriptor",
    source: "import os\nos.closerange(0, 4096)\nprint('x')",
    end: ENDED,
  },
  { name: "closing standard output", source: "import os\nos.close(1)\nprint('x')", end: EXITED },
  {
    name: "standard output elsewhere",
    source: "import os\nos.dup2(2, 1)\nprint('x')",
    end: EXITED,
  },
  {
    name: "patched built-ins",
    source:
      "import builtins, io, os, json, sys\nfor m in (builtins, io, os, json, sys):\n  for n in ('print', 'open', 'exec', 'compile', 'isinstance', 'len', 'write', 'read', 'dumps', 'exit', 'dup2', 'lseek'):\n    if hasattr(m, n): setattr(m, n, lambda *a, **k: 1 / 0)",
    end: ENDED,
  },
  {
    name: "patched classes of the sandbox",
    source:
      "import gc\nfor f in gc.get_objects():\n  if type(f).__name__ == 'function' and f.__module__ in ('worker', 'harden', 'tests_job'):\n    f.__code__ = (lambda *a, **k: None).__code__",
    end: ENDED,
  },
  {
    name: "a walk through frames and objects for other tests",
    source:
      "import gc, sys\nf = sys._getframe()\nseen = ''\nwhile f: seen += repr(f.f_locals); f = f.f_back\n" +
      "seen += ''.join(repr(o) for o in gc.get_objects() if isinstance(o, (str, bytes, list, dict, tuple)) and len(o) < 99)\n" +
      "print('WON' if input().translate({49: 51, 50: 52, 51: 49, 52: 50}) in seen else 'nothing')",
    end: ENDED,
  },
  {
    name: "a lock on its own streams",
    source:
      "import fcntl\nfor fd in range(8):\n  try: fcntl.flock(fd, fcntl.LOCK_EX)\n  except OSError: pass",
    end: EXITED,
  },
  {
    name: "non-blocking streams",
    source:
      "import os\nfor fd in range(8):\n  try: os.set_blocking(fd, False)\n  except OSError: pass\nprint(1)",
    end: ENDED,
  },
  {
    name: "seals on its output",
    source:
      "import fcntl\nfor fd in range(8):\n  try: fcntl.fcntl(fd, 1033, 15)\n  except OSError: pass",
    end: EXITED,
  },
  {
    name: "an output of a terabyte without writing it",
    source:
      "import os\nfor fd in range(8):\n  try: os.ftruncate(fd, 1 << 40)\n  except OSError: pass",
    end: ENDED,
  },
  {
    name: "a thread that goes on",
    source:
      "import threading, time\ndef f():\n  while True: time.sleep(0.001); print('noise', flush=True)\nthreading.Thread(target=f, daemon=True).start()",
    end: ENDED,
  },
  {
    name: "a thread that never ends",
    source: "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()",
    end: TIME,
  },
  {
    name: "a collector that fights back",
    source:
      "import gc, os\nclass A:\n  def __del__(self): A(); os.write(1, b'x')\nA(); gc.set_threshold(1)",
    end: ENDED,
  },
];

const GREED: Attack[] = [
  {
    name: "1 GB of output",
    source: "import sys\nfor _ in range(1024): sys.stdout.write('x' * 2**20)",
    end: /^output_limit$/,
  },
  {
    name: "1 GB in one line past every error",
    source: "import os\nwhile True:\n  try: os.write(1, b'x' * 2**20)\n  except OSError: pass",
    end: /^output_limit$/,
  },
  {
    name: "a flood of errors",
    source: "import os\nwhile True: os.write(2, b'x' * 65536)",
    end: TIME,
  },
  { name: "a memory bomb", source: "x = 'x'\nwhile True: x += x", end: /^memory_limit$/ },
  {
    name: "a memory bomb past every error",
    source: "x = []\nwhile True:\n  try: x.append(bytearray(10**7))\n  except MemoryError: pass",
    end: /^memory_limit$/,
  },
  {
    name: "a memory bomb of small pieces",
    source: "x = []\nwhile True: x.append([x])",
    end: /^(memory_limit|time_limit cpu)$/,
  },
  {
    name: "a terabyte reserved but not used",
    source: "import mmap\nx = mmap.mmap(-1, 1 << 40)\nprint(1)",
    end: ENDED,
  },
  {
    name: "10,000 threads",
    source:
      "import threading, time\nfor _ in range(10000):\n  try: threading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n  except RuntimeError: break\nprint(threading.active_count())",
    end: ENDED,
  },
  {
    name: "64 threads at work",
    source:
      "import threading\ndef f():\n  while True: pass\nfor _ in range(64): threading.Thread(target=f).start()",
    end: TIME,
  },
  {
    name: "a fork bomb",
    source: "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
    end: TIME,
  },
  {
    name: "100,000 descriptors",
    source: "import os\nfor _ in range(10**5): os.dup(0)",
    end: EXITED,
  },
  {
    name: "deep recursion",
    source:
      "import sys\nsys.setrecursionlimit(10**9)\ndef f(x): return f(x) + [f(x)].__len__()\nf(1)",
    end: ENDED,
  },
  {
    name: "deep brackets",
    source: `x = ${"(".repeat(100_000)}1${")".repeat(100_000)}`,
    end: /^compile_error$/,
  },
  {
    name: "a huge literal",
    source: `x = [${"1,".repeat(2_000_000)}]`,
    end: /^(exited 0|compile_error|memory_limit)$/,
  },
  {
    name: "constants that grow at compile time",
    source: "x = (((((('x' * 4096) * 4096) * 4096) * 4096) * 4096) * 4096)",
    end: ENDED,
  },
  { name: "a power without end", source: "print(10 ** 10 ** 8)", end: TIME },
  { name: "a slow pattern", source: "import re\nre.match('(a+)+$', 'a' * 40 + 'b')", end: TIME },
  {
    name: "every signal ignored",
    source:
      "import signal\nfor s in range(1, 65):\n  try: signal.signal(s, signal.SIG_IGN)\n  except (OSError, ValueError): pass\nwhile True: pass",
    end: TIME,
  },
  {
    name: "every signal blocked, asleep",
    source:
      "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\ntime.sleep(99)",
    end: TIME,
  },
  {
    name: "a stop of itself",
    source: "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    end: TIME,
  },
  {
    name: "every exception caught",
    source: "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
    end: TIME,
  },
  {
    name: "an exit handler without end",
    source: "import atexit\ndef f():\n  while True: pass\natexit.register(f)",
    end: TIME,
  },
  {
    name: "timers",
    source:
      "import signal, time\nsignal.signal(signal.SIGVTALRM, lambda *a: None)\nsignal.setitimer(signal.ITIMER_VIRTUAL, 0.001, 0.001)\nwhile True: pass",
    end: TIME,
  },
  {
    name: "a false clock",
    source:
      "import time\ntime.time = time.monotonic = time.process_time = lambda: 0\nwhile True: pass",
    end: TIME,
  },
];

const bash = (name: string, source: string, end: RegExp): Attack => ({
  name: `bash: ${name}`,
  language: "bash",
  source,
  end,
});
const cpp = (name: string, source: string, end: RegExp): Attack => ({
  name: `C++: ${name}`,
  language: "cpp",
  source,
  end,
});

/** Its number marks what a test must not find alive afterwards. */
export const DAEMON_MARK = "987654";

const OTHERS: Attack[] = [
  bash("a fork bomb", ":(){ :|:& };:; wait", ENDED),
  bash("a fork bomb that waits for nobody", "f() { while :; do ( f & ); done; }; f", ENDED),
  bash(
    "daemons",
    `for i in 1 2 3; do (setsid sh -c 'trap "" TERM HUP INT; sleep ${DAEMON_MARK}' > /dev/null 2>&1 < /dev/null &) ; done; echo started`,
    /^exited 0$/,
  ),
  bash("a child that keeps the output open", `sleep ${DAEMON_MARK} & echo done`, /^exited 0$/),
  bash("a child at work while the parent sleeps", `while :; do :; done & sleep 99`, TIME),
  bash("zombies", "for i in $(seq 300); do (exit 0) & done; exec sleep 0.2", ENDED),
  bash("killing everybody", "kill -9 -1; kill -9 $PPID && echo WON", ENDED),
  bash("stopping everybody", `kill -STOP -1; kill -STOP $PPID && echo WON`, ENDED),
  bash(
    "files",
    "echo x > /tmp/rlvr-bash && echo WON; echo x > ./note && echo WON; cat /etc/shadow && echo WON; ls / && echo WON",
    ENDED,
  ),
  bash("network", "exec 3<>/dev/tcp/127.0.0.1/22 && echo WON", ENDED),
  bash(
    "memory in children",
    `for i in 1 2 3 4 5 6 7 8; do (x=x; for j in $(seq 25); do x=$x$x; done; sleep 9) & done; wait`,
    /^(memory_limit|time_limit)/,
  ),
  bash("signals ignored", `trap "" TERM HUP INT XCPU; while :; do :; done`, TIME),
  cpp(
    "fork",
    `#include <unistd.h>\n#include <cstdio>\nint main() { if (fork() >= 0) puts("WON"); }`,
    EXITED,
  ),
  cpp(
    "a system call by its number",
    `#include <cstdio>\n#include <unistd.h>\n#include <sys/syscall.h>\n__attribute__((constructor)) void f() { if (syscall(SYS_socket, 2, 1, 0) >= 0 || syscall(SYS_ptrace, 16, getppid(), 0, 0) >= 0 || syscall(SYS_kill, getppid(), 9) >= 0) puts("WON"); }\nint main() {}`,
    EXITED,
  ),
  cpp("a shell", `#include <cstdlib>\nint main() { return system("echo WON") ? 1 : 0; }`, EXITED),
  cpp(
    "10,000 threads",
    `#include <thread>\n#include <vector>\n#include <chrono>\nint main() { for (int i = 0; i < 10000; i++) std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(99)); }).detach(); }`,
    ENDED,
  ),
  cpp(
    "memory at full speed",
    `#include <cstdlib>\n#include <cstring>\nint main() { for (;;) { char* p = (char*)malloc(1 << 26); if (p) memset(p, 1, 1 << 26); } }`,
    /^memory_limit$/,
  ),
  cpp(
    "a gigabyte of output",
    `#include <unistd.h>\nstatic char x[1 << 20];\nint main() { for (;;) write(1, x, sizeof x); }`,
    /^output_limit$/,
  ),
  cpp(
    "an endless template",
    "template <int n> struct A { static const int v = A<n + 1>::v; };\nint main() { return A<0>::v; }",
    /^compile_error$/,
  ),
  cpp(
    "a compiler that computes",
    "constexpr long f() { long s = 0; for (long i = 0; i < 1L << 60; i++) s += i; return s; }\nstatic_assert(f() > 0);\nint main() {}",
    /^compile_error$/,
  ),
  cpp("an include of secrets", `#include "/etc/shadow"\nint main() {}`, /^compile_error$/),
  cpp("an include without end", `#include "/dev/zero"\nint main() {}`, /^compile_error$/),
  cpp(
    "secrets by the assembler",
    `asm(".incbin \\"/etc/shadow\\"");\nint main() {}`,
    /^compile_error$/,
  ),
  cpp(
    "an array of 4 GB in the file",
    `char x[1L << 32] = {1};\nint main() { return x[5]; }`,
    /^compile_error$/,
  ),
];

/** Every attack. */
export const ATTACKS: Attack[] = [
  ...NETWORK.map((attack) => ({ ...attack, name: `network: ${attack.name}` })),
  ...FILES.map((attack) => ({ ...attack, name: `files: ${attack.name}` })),
  ...PROCESSES.map((attack) => ({ ...attack, name: `processes: ${attack.name}` })),
  ...CHEATS,
  ...GREED,
  ...OTHERS,
];
