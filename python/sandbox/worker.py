"""The untrusted side: one process per program, which locks itself down and runs its tests.

The server keeps time, counts memory and reads the output by itself.
"""
from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

import harden
import program
from channel import CONTROL, ORDER, REPORT, STDERR, STDOUT, Ends, settle

ROLES = {1: "candidate", 2: "tests"}


def serve(ends: Ends, layers: harden.Layers, parent: int, own_modules: list[str]) -> NoReturn:
    """Waits for a program, runs it and never returns."""
    status = 111
    try:
        harden.die_with(parent)
        settle(ends, layers.rules)
        order = ORDER.unpack(os.read(CONTROL, ORDER.size))
        memory, _, file_bytes, cpu_s, length, role = order
        source = os.pread(STDOUT, length, 0) if length else b""
        while len(source) < length:
            source += os.pread(STDOUT, length - len(source), len(source))
        os.ftruncate(STDOUT, 0)
        harden.first_to_die()
        harden.set_limits(cpu_s or None, memory + harden.ADDRESS_SPARE, file_bytes)
        harden.lock_down(layers, parent, layers.rules, layers.filter)
        gc.enable()
        program.allow_stack_limit()
        if role:
            converse(ROLES[role], own_modules)
        forget(own_modules)
        program.run_tests(source)
        status = 0
    except EOFError:
        status = 0
    except BaseException as error:
        os.write(STDERR, f"sandbox: {error!r}".encode("utf-8", "replace"))
    os._exit(status)


def forget(own_modules: list[str]) -> None:
    """Leaves none of the sandbox's modules for the program's imports to find."""
    for name in own_modules:
        sys.modules.pop(name, None)


def converse(role: str, own_modules: list[str]) -> NoReturn:
    """Runs a session: from here on the two pipes carry its messages, one a line."""
    import calls

    forget(own_modules)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(null, number)
    os.dup2(STDERR, 2)
    calls.serve(role, CONTROL, REPORT)
