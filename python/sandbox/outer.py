"""The outer layers: namespaces of the server's own, where the machine allows them.

One set per server, not per program: a second fork per program would cost more than the program.
"""
from __future__ import annotations

import errno
import os
import select
import signal
import socket

import kernel
from kernel import check, libc

NEW_NS, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000
# Tried in this order. A container that hides parts of /proc allows the second at most.
SETS: dict[tuple[str, ...], int] = {
    ("pid", "net", "mount", "ipc", "uts"): NEW_PID | NEW_NET | NEW_NS | NEW_IPC | NEW_UTS,
    ("net", "ipc", "uts"): NEW_NET | NEW_IPC | NEW_UTS,
}
MS_PRIVATE_ALL = 0x4000 | 0x40000
MS_NOSUID_NODEV_NOEXEC = 2 | 4 | 8


def enter() -> tuple[list[str], str]:
    """Moves this process into namespaces of its own; answers their names, or why there are none.

    With a process namespace, a child goes on in this function's place and the caller waits for
    its end, so that the death of either ends every process inside.
    """
    reason = ""
    for names, flags in SETS.items():
        pid = os.fork()
        if pid == 0:
            os._exit(rehearse(flags))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code == 0:
            join(flags)
            return list(names), ""
        reason = reason or f"the system refused them ({os.strerror(abs(code))})"
    return [], reason


def rehearse(flags: int) -> int:
    """Tries it in a process that ends afterwards; answers an error number, 0 when it went well."""
    try:
        unshare(flags)
        if flags & NEW_PID:
            pid = os.fork()
            if pid == 0:
                os._exit(as_errno(mount_own))
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return as_errno(reach_network)
    except OSError as error:
        return error.errno or errno.EPERM


def as_errno(step) -> int:  # noqa: ANN001 - a function without arguments
    """Runs a step for its error number."""
    try:
        step()
    except OSError as error:
        return error.errno or errno.EPERM
    return 0


def mount_own() -> None:
    """Mounts the namespace's own /proc, and attacks what the namespaces should hide."""
    mount_proc()
    if os.getpid() != 1 or len([name for name in os.listdir("/proc") if name.isdigit()]) != 1:
        raise OSError(errno.EPERM, "other processes are visible")
    reach_network()


def reach_network() -> None:
    """Fails unless the network is out of reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("127.0.0.1", 9))
        except OSError as error:
            if error.errno == errno.ENETUNREACH:
                return
    raise OSError(errno.EPERM, "the network is reachable")


def unshare(flags: int) -> None:
    """Leaves the namespaces of the parent; needs a user namespace where it is not root's right."""
    uid, gid = os.geteuid(), os.getegid()
    if libc.unshare(flags) == 0:
        return
    check(libc.unshare(flags | NEW_USER), "unshare")
    for name, text in (
        ("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def mount_proc() -> None:
    """Replaces /proc by the one of this process namespace, for this namespace alone."""
    check(libc.mount(b"none", b"/", None, MS_PRIVATE_ALL, None), "mount /")
    check(libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID_NODEV_NOEXEC, None), "mount /proc")


def join(flags: int) -> None:
    """Does for good what `rehearse` has tried."""
    unshare(flags)
    if not flags & NEW_PID:
        return
    alive, held = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid != 0:
        os.close(alive)
        for fd in (0, 1):
            os.close(fd)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os._exit(status if status >= 0 else 128 - status)
    os.close(held)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([alive], [], [], 0)[0]:
        # The parent had died before it could be watched.
        os._exit(0)
    os.close(alive)
    mount_proc()
