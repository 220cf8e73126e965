"""Landlock: which files a program may touch; also no TCP, and no signals out of its domain."""
from __future__ import annotations

import ctypes
import os
import struct

from kernel import check, libc

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE, READ, READ_DIR, TRUNCATE = 1, 2, 4, 8, 1 << 14
CHANGE_DIR = 0b1_1111_1111_0000
RULE_PATH = 1
# What a rule on a plain file may name.
FILE_RIGHTS = EXECUTE | WRITE | READ | TRUNCATE


def abi() -> int:
    """The kernel's Landlock version; 0 without."""
    return max(0, libc.syscall(CREATE_RULESET, None, 0, 1))


def handled(version: int) -> int:
    """The file rights this version can refuse."""
    rights = (1 << 13) - 1
    for since, bit in ((2, 13), (3, 14), (5, 15)):
        if version >= since:
            rights |= 1 << bit
    return rights


def ruleset(version: int, paths: dict[str, int]) -> int:
    """Makes a rule set that refuses everything but the given rights below the given paths.

    A path that does not exist is left out. Answers a descriptor.
    """
    rights = handled(version)
    network = 3 if version >= 4 else 0
    scope = 3 if version >= 6 else 0
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = ctypes.create_string_buffer(struct.pack("QQQ", rights, network, scope), 24)
    rules = check(libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(size), 0), "landlock")
    for path, wanted in paths.items():
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        allowed = wanted & rights & (-1 if os.path.isdir(path) else FILE_RIGHTS)
        rule = ctypes.create_string_buffer(struct.pack("=Qi", allowed, place), 12)
        check(libc.syscall(ADD_RULE, rules, RULE_PATH, rule, 0), f"landlock {path}")
        os.close(place)
    return rules


def restrict(rules: int) -> None:
    """Puts the rule set on this process for good; needs no_new_privs."""
    check(libc.syscall(RESTRICT_SELF, rules, 0), "landlock")
