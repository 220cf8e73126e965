"""Runs a compiled or interpreted command once per test, by way of a supervisor."""
from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import supervisor
from child import Child
from command import Command
from jobs import KILLED, Limits
from processes import sweep
from tests_job import TestsJob

if TYPE_CHECKING:
    from server import Server


class CommandJob(TestsJob):
    """Every test has a process of its own; the supervisor, which is trusted, keeps the limits."""

    always_first = True

    def __init__(
        self,
        host: Server,
        job_id: int,
        limits: Limits,
        body: memoryview,
        command: Command,
    ) -> None:
        super().__init__(host, job_id, limits, body)
        self._command = command

    def start(self) -> None:
        """Starts the supervisor and the first of the tests that are left."""
        layers, command, limits = self.host.layers, self._command, self.limits
        self.child = Child(lambda ends: supervisor.serve(ends, layers, command, limits))
        self._load_stdin()
        os.write(self.child.control, b"g")
        self.arm(time.monotonic())
        self.host.watch(self.child, self)

    def arm(self, now: float) -> None:
        """Leaves the clocks to the supervisor."""
        self.started = now

    def on_report(self) -> None:
        """Passes on what the supervisor says of one run."""
        try:
            data = os.read(self.child.report, supervisor.RESULT.size)
        except BlockingIOError:
            return
        if len(data) < supervisor.RESULT.size:
            self.host.unwatch_report(self.child)
            return
        end, code, cpu, wall, peak = supervisor.RESULT.unpack(data)
        if end == supervisor.KILLED:
            self.host.fail(self, KILLED)
            return
        if end == supervisor.NOT_STARTED:
            why = bytes(self.child.errors()).decode("utf-8", "replace")
            self.host.fail(self, f"a program could not be started: {why}")
            return
        self._send(self.child, end, code, cpu / 1e6, wall / 1e6, peak, self._read_output())

    def on_death(self) -> None:
        """The supervisor never ends by itself while a test runs."""
        self.on_report()
        if self.child is not None:
            self.host.fail(self, "a supervisor died")

    def drop_child(self) -> None:
        """Ends the supervisor, then what it leaves to this process, the next reaper."""
        if self.child is not None:
            super().drop_child()
            sweep(self.host.children())


def command_of(header: dict) -> Command:
    """The command of a request."""
    return Command(**{name: header[name] for name in Command._fields})
