"""Runs a program once per standard input, in one process for as long as that lives."""
from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import link
import channel
from child import Child
from hidden import hidden
from jobs import CPU_SLACK_S, KILLED, Job, Limits

if TYPE_CHECKING:
    from server import Server


class TestsJob(Job):
    """Runs a program once per standard input, in one process for as long as that lives."""

    # Whether every test begins a process, so that no failure needs to be confirmed.
    always_first = False

    def __init__(self, host: Server, job_id: int, limits: Limits, body: memoryview) -> None:
        super().__init__(host, job_id, limits)
        count = int.from_bytes(body[:4], "little")
        sizes = memoryview(body[4 : 4 + 4 * count]).cast("I")
        self._body = body
        self._bounds = [4 + 4 * count]
        for size in sizes:
            self._bounds.append(self._bounds[-1] + size)
        self._tests = count - 1
        self._next = 0
        self._is_first = True
        self._compiling = False
        self._is_waiting = False
        self._output = host.output
        largest = max([limits.output_bytes + 1, *sizes])
        cpu_s = int(limits.cpu_s * (self._tests + 1)) + 2
        self._order = channel.ORDER.pack(
            limits.memory_bytes, limits.output_bytes, largest, cpu_s, sizes[0], 0
        )

    def start(self) -> None:
        """Gives the program to a fresh process, with the first of the tests that are left."""
        child = self.child = self.host.take_spare()
        self.killed_for = None
        self._is_first, self._compiling = True, True
        write_all(child.stdout, self._body[self._bounds[0] : self._bounds[1]])
        self._load_stdin()
        os.write(child.control, self._order + b"g")
        self.cpu_base = child.cpu_seconds()
        self.arm(time.monotonic())
        self.host.watch(child, self)

    def _load_stdin(self) -> None:
        begin, end = self._bounds[self._next + 1 : self._next + 3]
        os.ftruncate(self.child.stdin, 0)
        write_all(self.child.stdin, self._body[begin:end])

    def go_on(self) -> None:
        """Starts the next test in the same process, or the next process."""
        self._is_waiting = False
        if self.child is None:
            self.start()
            return
        child = self.child
        self._is_first = self.always_first
        os.ftruncate(child.stdout, 0)
        self._load_stdin()
        child.forget_errors()
        try:
            os.write(child.control, b"g")
        except BrokenPipeError:
            pass
        self.arm(time.monotonic())

    def resume(self) -> None:
        """Goes on after Node has taken what it was sent."""
        if self._is_waiting:
            self.go_on()

    def on_report(self) -> None:
        """Takes what the child says of itself."""
        try:
            data = os.read(self.child.report, channel.NOTE.size)
        except BlockingIOError:
            return
        if len(data) < channel.NOTE.size:
            # It closed its end. Its death or a limit comes next.
            self.host.unwatch_report(self.child)
            return
        kind, code, out_of_memory, figure = channel.NOTE.unpack(data)
        if self._compiling and kind == b"C":
            self._compiling = False
            self.cpu_base = figure / 1e6
            self.arm(time.monotonic())
        elif self._compiling and kind == b"E":
            self._next = self._tests - 1
            self._report(link.COMPILE_ERROR, 0, figure)
        elif not self._compiling and kind == b"D" and self.killed_for is None:
            end = link.MEMORY_LIMIT if code and out_of_memory else link.EXITED
            self._report(end, code, figure)

    def on_death(self) -> None:
        """Takes the child's death for the end of the test in hand."""
        child = self.child
        child.take_errors()
        self.on_report()
        if self.child is None:
            return
        wall = time.monotonic() - self.started
        size = self._read_output()
        if size > self.limits.output_bytes and self.killed_for is None:
            self.killed_for = link.OUTPUT_LIMIT
        end, code = self.bury()
        usage = child.usage
        if self._compiling:
            if (end, code) in ((link.EXITED, 111), (link.SIGNALED, signal.SIGKILL)):
                self.host.fail(self, "a process died before it ran its program")
                return
            # The code names the limit that was passed, if one was.
            end, code, self._next = link.COMPILE_ERROR, self.killed_for or 0, self._tests - 1
        cpu = usage.ru_utime + usage.ru_stime - self.cpu_base
        end = self.end_of_dead(end, code, usage, cpu)
        if end is None:
            self.host.fail(self, KILLED)
            return
        self._send(child, end, code, cpu, wall, usage.ru_maxrss, size)

    def _report(self, end: int, code: int, peak_kib: int) -> None:
        child = self.child
        now = time.monotonic()
        self.look_at = None
        clock = child.cpu_seconds()
        cpu = clock - self.cpu_base
        self.cpu_base = clock
        size = self._read_output()
        if end != link.COMPILE_ERROR:
            if size > self.limits.output_bytes:
                end = link.OUTPUT_LIMIT
            elif cpu > self.limits.cpu_s + CPU_SLACK_S:
                end = link.CPU_LIMIT
            elif peak_kib * 1024 > self.limits.memory_bytes:
                end = link.MEMORY_LIMIT
        self._send(child, end, code, cpu, now - self.started, peak_kib, size)

    def _read_output(self) -> int:
        """Reads standard output into the server's buffer; answers its size, limit plus 1 at most."""
        # The server's buffer serves every job; a larger output gets a mapping for the moment.
        self._output = self.host.output
        count = os.preadv(self.child.stdout, [self._output], 0)
        if count == len(self._output):
            total = min(self.child.stdout_size(), self.limits.output_bytes + 1)
            if total > count:
                self._output, count = memoryview(hidden(total)), 0
                while count < total:
                    got = os.preadv(self.child.stdout, [self._output[count:total]], count)
                    if got == 0:
                        # The program cuts its output meanwhile: what could be read is its output.
                        break
                    count += got
        return count

    def _send(
        self, child: Child, end: int, code: int, cpu: float, wall: float, peak: int, size: int
    ) -> None:
        test = self._next
        self._next += 1
        is_last = self._next >= self._tests
        flags = (link.FIRST if self._is_first else 0) | (link.LAST if is_last else 0)
        figures = (max(0, int(cpu * 1e6)), int(wall * 1e6), peak)
        output = self._output[: min(size, self.limits.output_bytes)]
        self.host.link.send(
            link.OUTCOME, self.id, end, code, flags, test, figures, child.errors(), output
        )
        if is_last:
            self.host.finish(self)
        elif self.host.link.is_clear:
            self.go_on()
        else:
            self._is_waiting = True


def write_all(fd: int, data: memoryview) -> None:
    """Writes to the beginning of a file in memory."""
    at = 0
    while at < len(data):
        at += os.pwrite(fd, data[at:], at)
