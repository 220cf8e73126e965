"""Finds and ends what a program has started, daemons included."""
from __future__ import annotations

import os
import signal
import time

# Rounds of killing before a sweep gives up; each round ends every process seen in it.
MOST_ROUNDS = 20_000
PAUSE_S = 0.0005
# The wall clock stretches to this many times its limit at most.
MOST_STRETCH = 10


def starved_seconds(pid: int, wall_s: float) -> float:
    """How long a process was ready to run but had no processor, up to a multiple of its limit.

    On a busy machine this time is not the program's: without it a right program would pass the
    wall limit here and not elsewhere. 0 where the kernel does not count it.
    """
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            waited = int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
    return min(waited, (MOST_STRETCH - 1) * wall_s)


def children(pid: int) -> list[int]:
    """The living children of a process, of all its threads."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:
        pass
    return found


def descendants(pid: int, spared: frozenset[int] = frozenset()) -> list[int]:
    """Everything below a process; of the spared children nothing."""
    found, level = [], [child for child in children(pid) if child not in spared]
    while level:
        found += level
        level = [below for above in level for below in children(above)]
    return found


def sweep(spared: frozenset[int] = frozenset()) -> None:
    """Kills and reaps everything below this process but the spared children and theirs.

    A process whose parent dies becomes a child of this one, the reaper, so that killing whole
    generations ends in none: a fork that races adds at most one more round.
    """
    me = os.getpid()
    for _ in range(MOST_ROUNDS):
        below = descendants(me, spared)
        if not below:
            return
        # Stopped first, so that none of them can fork while the others die.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in below:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
        for pid in children(me):
            if pid not in spared:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass
        time.sleep(PAUSE_S)
