"""The C library through ctypes: the calls that Python's os module does not have."""
from __future__ import annotations

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38
CAPSET = {"x86_64": 126, "aarch64": 91}


def check(result: int, what: str) -> int:
    """Turns a C error into OSError."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def prctl(option: int, value: int) -> None:
    """Sets one property of this process."""
    check(libc.prctl(option, value, 0, 0, 0), f"prctl {option}")


def drop_capabilities(machine: str) -> None:
    """Gives up every capability; no_new_privs keeps them from coming back by exec."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    check(libc.syscall(CAPSET[machine], header, (ctypes.c_uint32 * 6)()), "capset")
