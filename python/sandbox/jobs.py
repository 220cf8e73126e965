"""What the server does for one request: runs a program's tests, or carries a session's messages.

A job owns one child at a time, is told of what happens to it, and decides when a limit is passed.
"""
from __future__ import annotations

import os
import signal
import time
from resource import struct_rusage
from typing import TYPE_CHECKING, NamedTuple

import link
from child import Child
from processes import starved_seconds

if TYPE_CHECKING:
    from server import Server

KILLED = "a process was killed from outside; the machine may be short of memory"
# How often a running program's time, memory and output are looked at.
LOOK_S = 0.025
# Slack of the processor clock: a limit is passed only beyond it.
CPU_SLACK_S = 0.01


class Limits(NamedTuple):
    """Hard limits on one test."""

    cpu_s: float
    wall_s: float
    memory_bytes: int
    output_bytes: int


def limits_of(header: dict) -> Limits:
    """The limits of a request."""
    return Limits(
        header["cpu_ms"] / 1000, header["wall_ms"] / 1000, header["memory"], header["output"]
    )


class Job:
    """Common to all jobs: the child, its limits, how it ends."""

    def __init__(self, host: Server, job_id: int, limits: Limits) -> None:
        self.host, self.id, self.limits = host, job_id, limits
        self.child: Child | None = None
        # The limit for which the child was killed, as an end of the wire.
        self.killed_for: int | None = None
        # Time to look again, and when the wall limit is passed; None while nothing runs.
        self.look_at: float | None = None
        self.wall_end = 0.0
        self.cpu_base = 0.0
        self.started = 0.0

    def arm(self, now: float) -> None:
        """Starts the clocks."""
        self.started = now
        self.wall_end = now + self.limits.wall_s
        self.look_at = now + min(LOOK_S, self.limits.wall_s)

    def look(self, now: float) -> None:
        """Kills the child if it has passed a limit."""
        child, limits = self.child, self.limits
        self.look_at = now + min(LOOK_S, max(0.005, self.wall_end - now))
        if self.killed_for is not None:
            return
        if child.cpu_seconds() - self.cpu_base > limits.cpu_s + CPU_SLACK_S:
            self.kill_for(link.CPU_LIMIT)
        elif child.resident_bytes() > limits.memory_bytes:
            self.kill_for(link.MEMORY_LIMIT)
        elif child.stdout_size() > limits.output_bytes:
            self.kill_for(link.OUTPUT_LIMIT)
        elif now >= self.wall_end + starved_seconds(child.pid, limits.wall_s):
            self.kill_for(link.WALL_LIMIT)

    def kill_for(self, limit: int) -> None:
        """Kills the child; its death is then this limit."""
        self.killed_for = limit
        self.child.kill()

    def resume(self) -> None:
        """Goes on after Node has taken what it was sent."""

    def bury(self) -> tuple[int, int]:
        """Reaps a child that has died; answers how it ended, and the code of that."""
        child = self.child
        self.host.unwatch(child)
        status = child.reap()
        self.child, self.look_at = None, None
        if self.killed_for is not None:
            return self.killed_for, 0
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number == signal.SIGXCPU:
                return link.CPU_LIMIT, 0
            if number == signal.SIGXFSZ:
                return link.OUTPUT_LIMIT, 0
            return link.SIGNALED, number
        return link.EXITED, os.WEXITSTATUS(status)

    def end_of_dead(self, end: int, code: int, usage: struct_rusage, cpu: float) -> int | None:
        """The end of a child that has been buried, with the limits that only its whole use tells;
        None if somebody else killed it, which says nothing about the program."""
        if end >= link.CPU_LIMIT:
            return end
        if usage.ru_maxrss * 1024 > self.limits.memory_bytes:
            return link.MEMORY_LIMIT
        if (end, code) != (link.SIGNALED, signal.SIGKILL) or self.host.layers.filter is None:
            return end
        # The kernel's own backstop sends the signal too; the filter refuses it to the program.
        return link.CPU_LIMIT if cpu > self.limits.cpu_s else None

    def drop_child(self) -> None:
        """Ends the child, if there is one, without a word."""
        if self.child is not None:
            self.host.unwatch(self.child)
            self.child.kill()
            self.child.reap()
            self.child, self.look_at = None, None
