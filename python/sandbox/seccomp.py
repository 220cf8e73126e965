"""Builds the seccomp filter: an allow-list of system calls, some of them only with safe arguments.

What is not listed fails with EPERM, so that a program that tries gets an ordinary error and its
verdict follows from what it does next. clone3 answers ENOSYS, which makes libc use clone, whose
flags the filter can see.
"""
from __future__ import annotations

import ctypes
import os
import struct

import syscalls
from kernel import check, libc

ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
EPERM, ENOSYS, ENOTTY = 1, 38, 25
LOAD, EQUAL, ANY_BIT, AT_LEAST, RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
# Stands in the filter for the program's own process id until the program knows it.
PID_MARK = 0x5AFEC0DE

CLONE_THREAD = 0x10000
# Every CLONE_NEW* flag, and CLONE_INTO_CGROUP's neighbours that clone does not know.
CLONE_NAMESPACES = 0x7E020000 | 0x80
# TCGETS TIOCGWINSZ FIONREAD FIONBIO FIOCLEX FIONCLEX: no terminal injection, no device control.
IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5451, 0x5450)
# F_SETOWN F_SETSIG F_SETOWN_EX F_SETLEASE F_NOTIFY: each makes the kernel signal another process.
FCNTL_REFUSED = (8, 10, 15, 1024, 1026)
PR_SET_NAME = 15
SIGKILL = 9
AF_UNIX = 1


def op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """One instruction: on a jump, skips `yes` or `no` of those that follow."""
    return struct.pack("HBBI", code, yes, no, value & 0xFFFFFFFF)


def low_word(argument: int) -> bytes:
    """Loads the low half of a call's argument, counted from 0 (both machines are little-endian)."""
    return op(LOAD, 16 + 8 * argument)


def allow() -> bytes:
    """Ends in permission."""
    return op(RETURN, ALLOW)


def refuse(errno: int = EPERM) -> bytes:
    """Ends in an error of the call."""
    return op(RETURN, ERRNO | errno)


def for_call(number: int | None, body: list[bytes]) -> list[bytes]:
    """Runs the body, which must end, if this is the call."""
    return [] if number is None else [op(EQUAL, number, 0, len(body)), *body]


def only_values(argument: int, values: tuple[int, ...], errno: int) -> list[bytes]:
    """Allows the call when the argument is one of the values."""
    tests = [op(EQUAL, value, len(values) - i) for i, value in enumerate(values)]
    return [low_word(argument), *tests, refuse(errno), allow()]


def except_values(argument: int, values: tuple[int, ...]) -> list[bytes]:
    """Allows the call unless the argument is one of the values."""
    tests = [op(EQUAL, value, len(values) - i) for i, value in enumerate(values)]
    return [low_word(argument), *tests, allow(), refuse()]


def to_itself(signal_argument: int) -> list[bytes]:
    """Allows signals to the program itself, but for SIGKILL: that one comes from elsewhere, so that
    a death by it is known not to be the program's doing."""
    return [
        low_word(0), op(EQUAL, PID_MARK, 1, 0), refuse(),
        low_word(signal_argument), op(EQUAL, SIGKILL, 0, 1), refuse(), allow(),
    ]


def only_null(argument: int) -> list[bytes]:
    """Allows the call when a pointer argument is null."""
    high = op(LOAD, 20 + 8 * argument)
    return [low_word(argument), op(EQUAL, 0, 0, 2), high, op(EQUAL, 0, 1, 0), refuse(), allow()]


def ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Joins neighbours, so that the filter stays short."""
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def build(machine: str, profile: str, free_signals: bool = False) -> bytes | None:
    """Builds the filter of a profile, or None on a machine without a table.

    `python` neither forks nor executes; `native` executes once and has threads; `tree` forks;
    `compile` also changes files. Signals go to the program itself only (PID_MARK, see `install`)
    and are never SIGKILL, in trees to anybody where `free_signals` says that another layer confines them.
    """
    if machine not in syscalls.ARCHITECTURES:
        return None
    column, architecture = syscalls.ARCHITECTURES[machine]
    tree = profile in ("tree", "compile")
    call = {name: numbers[column] for name, numbers in syscalls.CHECKED.items()}
    rows = dict(syscalls.BASE)
    if profile != "python":
        rows.update(syscalls.EXEC)
    if tree:
        rows.update(syscalls.TREE)
    if profile == "compile":
        rows.update(syscalls.FILES)
    threads_only = [low_word(0), op(ANY_BIT, CLONE_THREAD, 1, 0), refuse(), allow()]
    no_namespaces = [low_word(0), op(ANY_BIT, CLONE_NAMESPACES, 0, 1), refuse(), allow()]
    to_anybody = [allow() if free_signals else refuse()]
    code = [
        op(LOAD, 4), op(EQUAL, architecture, 1, 0), op(RETURN, KILL), op(LOAD, 0),
        # The x32 calls of x86-64 would slip past the numbers.
        *([op(AT_LEAST, 0x40000000, 0, 1), refuse(ENOSYS)] if machine == "x86_64" else []),
        *for_call(call["clone3"], [refuse(ENOSYS)]),
        *for_call(call["clone"], no_namespaces if tree else threads_only),
        *for_call(call["prlimit64"], [low_word(0), op(EQUAL, 0, 1, 0), refuse(), *only_null(2)]),
        *for_call(call["kill"], to_anybody if tree else to_itself(1)),
        *for_call(call["tgkill"], to_anybody if tree else to_itself(2)),
        *for_call(call["ioctl"], only_values(1, IOCTLS, ENOTTY)),
        *for_call(call["fcntl"], except_values(1, FCNTL_REFUSED)),
        *for_call(call["prctl"], only_values(0, (PR_SET_NAME,), EPERM)),
        # asyncio talks to itself through a socketpair; no socket has an address.
        *for_call(call["socketpair"], only_values(0, (AF_UNIX,), EPERM)),
        *for_call(call["sendto"], only_null(4)),
    ]
    for low, high in ranges([n[column] for n in rows.values() if n[column] is not None]):
        if low == high:
            code += [op(EQUAL, low, 0, 1), allow()]
        else:
            code += [op(AT_LEAST, low, 0, 2), op(AT_LEAST, high + 1, 1, 0), allow()]
    return b"".join([*code, refuse()])


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def install(code: bytes) -> None:
    """Puts the filter on this process for good; needs no_new_privs."""
    code = code.replace(struct.pack("<I", PID_MARK), struct.pack("<I", os.getpid()))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    check(libc.prctl(22, 2, ctypes.byref(program), 0, 0), "seccomp")
