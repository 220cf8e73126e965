"""Carries the messages of a session between Node and a process of calls.py, one a line."""
from __future__ import annotations

import os
import time
from collections import deque
from typing import TYPE_CHECKING

import link
import channel
from hidden import hidden
from jobs import KILLED, Job, Limits

if TYPE_CHECKING:
    from server import Server

ROLES = {"candidate": 1, "tests": 2}
FIRST_BYTES = 1 << 16


class SessionJob(Job):
    """The clocks run from a message to the process until its next message; while the other side
    thinks, only the processor time is watched.

    The two sides take turns: a message that nobody asked for waits here and in the pipe, so that a
    program that writes without end fills no memory but its own.
    """

    def __init__(self, host: Server, job_id: int, limits: Limits, role: str) -> None:
        super().__init__(host, job_id, limits)
        self._role = ROLES[role]
        self._unsent: deque[memoryview] = deque()
        self._line = memoryview(hidden(FIRST_BYTES))
        self._have = 0
        # Messages that the process may send before the other side speaks again.
        self._turns = 0
        self._is_waiting = False
        # What the wall clock has left while it rests.
        self._wall_left: float | None = None

    def start(self) -> None:
        """Turns a fresh process into one end of the conversation."""
        child = self.child = self.host.take_spare()
        limits = self.limits
        order = channel.ORDER.pack(
            limits.memory_bytes, limits.output_bytes, limits.output_bytes + 1, 0, 0, self._role
        )
        os.write(child.control, order)
        self.cpu_base = child.cpu_seconds()
        self.arm(time.monotonic())
        self.host.watch(child, self)

    def take(self, message: memoryview, goes_on: bool) -> None:
        """Passes a message on to the process; the clocks go on, or start anew."""
        if self.child is None:
            return
        self._unsent.append(message)
        now = time.monotonic()
        if goes_on and self._wall_left is not None:
            self.wall_end, self._wall_left = now + self._wall_left, None
        else:
            self.cpu_base, self._wall_left = self.child.cpu_seconds(), None
            self.arm(now)
        self._turns += 1
        self.on_writable()
        self._listen()

    def on_writable(self) -> None:
        """Writes what the process can take."""
        while self._unsent:
            try:
                sent = os.write(self.child.control, self._unsent[0])
            except BlockingIOError:
                self.host.watch_control(self)
                return
            except BrokenPipeError:
                self._unsent.clear()
                break
            rest = self._unsent.popleft()[sent:]
            if len(rest):
                self._unsent.appendleft(rest)
        self.host.unwatch_control(self.child)

    def on_report(self) -> None:
        """Reads from the process; passes a whole message on when it is its turn."""
        if self._is_waiting or self._turns == 0 or self.killed_for is not None:
            return
        if self._have == len(self._line) and not self._grow():
            self.kill_for(link.OUTPUT_LIMIT)
            return
        try:
            count = os.readv(self.child.report, [self._line[self._have :]])
        except BlockingIOError:
            return
        if count == 0:
            self.host.unwatch_report(self.child)
            return
        scanned = self._have
        self._have += count
        self._pass_on(scanned)

    def _pass_on(self, scanned: int) -> None:
        start = 0
        while self._turns > 0:
            end = self._line.obj.find(b"\n", max(start, scanned), self._have)
            if end < 0:
                break
            self.host.link.send(link.MESSAGE, self.id, stdout=self._line[start:end])
            start = end + 1
            self._turns -= 1
            # The process waits for an answer: its wall clock rests.
            if self._wall_left is None:
                self._wall_left = self.wall_end - time.monotonic()
            self.wall_end = float("inf")
        self._line[: self._have - start] = self._line[start : self._have]
        self._have -= start
        self._is_waiting = not self.host.link.is_clear
        if self._is_waiting or self._turns == 0:
            self.host.unwatch_report(self.child)

    def _listen(self) -> None:
        """Goes on with what was read already, then with what comes."""
        if self._is_waiting:
            return
        self._pass_on(0)
        if self._turns > 0 and not self._is_waiting:
            self.host.watch_report(self)

    def _grow(self) -> bool:
        size = min(2 * len(self._line), self.limits.output_bytes)
        if size <= self._have:
            return False
        larger = memoryview(hidden(size))[:size]
        larger[: self._have] = self._line[: self._have]
        self._line = larger
        return True

    def resume(self) -> None:
        """Reads on after Node has taken what it was sent."""
        if self._is_waiting:
            self._is_waiting = False
            self._listen()

    def on_death(self) -> None:
        """Passes on the last messages, then the end."""
        have = -1
        while self.killed_for is None and not self._is_waiting and have != self._have:
            have = self._have
            self.on_report()
        child = self.child
        child.take_errors()
        wall = time.monotonic() - self.started
        end, code = self.bury()
        usage = child.usage
        cpu = usage.ru_utime + usage.ru_stime - self.cpu_base
        end = self.end_of_dead(end, code, usage, cpu)
        if end is None:
            self.host.fail(self, KILLED)
            return
        figures = (max(0, int(cpu * 1e6)), int(wall * 1e6), usage.ru_maxrss)
        self.host.link.send(
            link.OUTCOME, self.id, end, code, link.LAST, 0, figures, child.errors()
        )
        self.host.finish(self)
