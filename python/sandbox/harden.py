"""What a process does to itself before it runs a program: the inner layers, in their order."""
from __future__ import annotations

import os
import resource
import signal
from typing import NamedTuple

import kernel
import landlock
import seccomp

# Address space beyond the memory limit: resident memory decides the limit, and thread stacks,
# arenas and mapped libraries are reserved without being used.
ADDRESS_SPARE = 1 << 30
OPEN_FILES = 64
# Threads of a separate user; without one the address space bounds them.
THREADS = 256
STACK_BYTES = 256 << 20


class Layers(NamedTuple):
    """The layers that this server puts on its programs; None or False is a layer left out."""

    machine: str
    # Descriptor of the Landlock rule set of Python programs.
    rules: int | None
    landlock_abi: int
    # Filter of Python programs.
    filter: bytes | None
    uid: int | None
    has_capabilities: bool


def has_capabilities() -> bool:
    """Whether this process holds any capability."""
    with open("/proc/self/status", encoding="ascii") as status:
        return any(line.startswith("CapPrm") and int(line.split()[1], 16) for line in status)


def set_limit(kind: int, soft: int, hard: int | None = None) -> None:
    """Sets a limit, never above the hard limit that is there."""
    now = resource.getrlimit(kind)[1]
    top = soft if hard is None else hard
    if now != resource.RLIM_INFINITY:
        soft, top = min(soft, now), min(top, now)
    resource.setrlimit(kind, (soft, top))


def set_limits(
    cpu_s: int | None, address_bytes: int | None, file_bytes: int, data_bytes: int | None = None
) -> None:
    """Sets the limits the kernel itself keeps: the backstops of those that the server keeps."""
    if cpu_s is not None:
        set_limit(resource.RLIMIT_CPU, cpu_s, cpu_s + 1)
    if address_bytes is not None:
        set_limit(resource.RLIMIT_AS, address_bytes)
    if data_bytes is not None:
        set_limit(resource.RLIMIT_DATA, data_bytes)
    set_limit(resource.RLIMIT_FSIZE, file_bytes)
    set_limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    set_limit(resource.RLIMIT_CORE, 0)
    set_limit(resource.RLIMIT_MSGQUEUE, 0)
    set_limit(resource.RLIMIT_MEMLOCK, 0)


def die_with(parent: int) -> None:
    """Asks the kernel to kill this process when its parent dies, also if it is already dead."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def become(uid: int) -> None:
    """Changes to a user of its own, which no file and no other process belongs to."""
    if resource.getrlimit(resource.RLIMIT_NPROC)[0] > THREADS:
        set_limit(resource.RLIMIT_NPROC, THREADS)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def limit_processes(has_own_user: bool, count: int) -> None:
    """Bounds the processes of this user to `count` more than there are."""
    if has_own_user:
        set_limit(resource.RLIMIT_NPROC, count)
        return
    mine, others = os.getuid(), 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{name}").st_uid == mine:
                others += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    set_limit(resource.RLIMIT_NPROC, others + count)


def first_to_die() -> None:
    """Offers this process to the kernel when the machine runs out of memory."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
            score.write("1000")
    except OSError:
        pass


def lock_down(layers: Layers, parent: int, rules: int | None, code: bytes | None) -> None:
    """Puts on every layer but the limits. What follows runs as the program's equal."""
    os.setsid()
    if layers.uid is not None:
        become(layers.uid)
        # A change of user clears the request to die with the parent.
        die_with(parent)
    elif layers.has_capabilities:
        kernel.drop_capabilities(layers.machine)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if rules is not None:
        landlock.restrict(rules)
        os.close(rules)
    if code is not None:
        seccomp.install(code)
