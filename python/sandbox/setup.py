"""What the server does once, before it serves: limits, warm modules, layers, descriptors."""
from __future__ import annotations

import builtins
import fcntl
import importlib
import os
import resource
import sys
import threading

import harden
import kernel
import landlock
import seccomp

FOLDER = os.path.dirname(os.path.abspath(__file__))
# Stacks of threads that do not ask for another size.
THREAD_STACK_BYTES = 8 << 20
# Users that nobody is. The second range is for containers that map no more.
USER_RANGES = ((0x10000000, 1 << 22), (60000, 5000))
READ = landlock.READ | landlock.READ_DIR
# Read by C extensions, by the loader and by time zones.
SYSTEM_PATHS = (
    "/lib", "/lib64", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime",
    "/usr/share/zoneinfo", "/dev/urandom", "/dev/random",
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full")


def set_stack_limit() -> None:
    """Starts this interpreter anew with the stack that programs get: the kernel lays out a
    process by the limit at exec."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    wanted = harden.STACK_BYTES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if resource.getrlimit(resource.RLIMIT_STACK)[0] == wanted:
        return
    resource.setrlimit(resource.RLIMIT_STACK, (wanted, hard))
    os.execv(sys.executable, [sys.executable, "-s", "-S", "-B", *sys.argv])


def warm(modules: list[str], packages: list[str]) -> None:
    """Loads what programs use most, and what the interpreter's own start would have set up."""
    sys.path += [path for path in packages if path not in sys.path]
    for name in modules:
        importlib.import_module(name)
    import _sitebuiltins

    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)")
    threading.stack_size(THREAD_STACK_BYTES)
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    os.chdir("/")


def own_modules() -> list[str]:
    """Names of this folder's modules; also takes the folder off the path."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != FOLDER]
    return [
        name
        for name, module in sys.modules.items()
        if (getattr(module, "__file__", None) or "").startswith(FOLDER + os.sep)
    ]


def high(fd: int) -> int:
    """Moves a descriptor out of the way of the standard and the worker's numbers."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 40)
    os.close(fd)
    return moved


def take_standard_streams() -> tuple[int, int]:
    """Keeps Node's two pipes for the server alone; answers (requests, answers)."""
    requests, answers = high(os.dup(0)), high(os.dup(1))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return requests, answers


def prepare(settings: dict) -> tuple[harden.Layers, dict]:
    """Finds the layers this machine offers; answers them with a report for Node."""
    machine = os.uname().machine
    is_inner = settings["inner"]
    version = landlock.abi() if is_inner else 0
    rules = high(landlock.ruleset(version, python_paths())) if version else None
    code = seccomp.build(machine, "python") if is_inner else None
    pid = settings["server_pid"]
    uid, reason = find_user(pid) if is_inner and os.geteuid() == 0 else (None, "")
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    layers = harden.Layers(
        machine, rules, version, code, uid, is_inner and harden.has_capabilities()
    )
    report = {
        "pid": settings["server_pid"],
        "python": sys.version.split()[0],
        "machine": machine,
        "landlock": version,
        "seccomp": code is not None,
        "uid": uid,
        "uid_reason": reason,
        "namespaces": settings["namespaces"][0],
        "namespaces_reason": settings["namespaces"][1],
    }
    return layers, report


def python_paths() -> dict[str, int]:
    """The files a Python program may read."""
    paths = {path: READ for path in [*sys.path, *SYSTEM_PATHS, f"{sys.base_prefix}/lib"] if path}
    paths.update({path: landlock.READ | landlock.WRITE | landlock.TRUNCATE for path in DEVICES})
    return paths


def find_user(server_pid: int) -> tuple[int | None, str]:
    """Finds a user id for this server's programs that can still read the standard library."""
    library = os.path.dirname(os.__file__)
    for first, count in USER_RANGES:
        uid = first + server_pid % count
        pid = os.fork()
        if pid == 0:
            os._exit(try_user(uid, library))
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status == 0:
            return uid, ""
        if status == 2:
            return None, f"another user cannot read {library}"
    return None, "this process may not change its user"


def try_user(uid: int, library: str) -> int:
    """Exit code: 0 the user works, 1 refused, 2 it cannot read the library."""
    try:
        harden.become(uid)
    except OSError:
        return 1
    try:
        os.listdir(library)
        return 0
    except OSError:
        return 2
