"""One forked process of the server and what the two share: pipes, input and output."""
from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable
from resource import struct_rusage
from typing import NoReturn

from hidden import hidden
from channel import Ends

STDERR_KEPT = 4096
CHUNK = 1 << 16


class Child:
    """A process and the server's ends. Standard input and output are files in memory, so that
    nobody waits for an end of file that a leftover process could delay."""

    def __init__(self, body: Callable[[Ends], NoReturn]) -> None:
        self.stdin = os.memfd_create("stdin")
        self.stdout = os.memfd_create("stdout")
        fcntl.fcntl(self.stdout, fcntl.F_SETFL, os.O_APPEND)
        self.report, report = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        control, self.control = os.pipe2(os.O_CLOEXEC)
        self.stderr, stderr = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.control, False)
        os.set_blocking(self.stderr, False)
        os.set_blocking(report, True)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                body(Ends(report, control, self.stdin, self.stdout, stderr))
            finally:
                os._exit(112)
        self.pidfd = os.pidfd_open(self.pid)
        for fd in (report, control, stderr):
            os.close(fd)
        # The kernel's clock of that process's processor time, all its threads together.
        self._clock = (~self.pid << 3) | 2
        self._memory: int | None = None
        self._errors: memoryview | None = None
        self._errors_size = 0
        self.usage: struct_rusage | None = None

    def cpu_seconds(self) -> float:
        """Processor time so far."""
        try:
            return time.clock_gettime(self._clock)
        except OSError:
            return 0.0

    def resident_bytes(self) -> int:
        """Resident memory at this moment; 0 once it has died."""
        try:
            if self._memory is None:
                self._memory = os.open(f"/proc/{self.pid}/statm", os.O_RDONLY | os.O_CLOEXEC)
            return int(os.pread(self._memory, 64, 0).split()[1]) * 4096
        except (OSError, IndexError):
            return 0

    def stdout_size(self) -> int:
        """Bytes of standard output so far."""
        return os.fstat(self.stdout).st_size

    def take_errors(self) -> None:
        """Reads standard error; only the end of it is kept."""
        if self._errors is None:
            self._errors = memoryview(hidden(STDERR_KEPT + CHUNK))
        view = self._errors
        # A few reads empty the pipe of a program that waits; one that floods may wait its turn.
        for _ in range(4):
            try:
                count = os.readv(self.stderr, [view[self._errors_size : self._errors_size + CHUNK]])
            except BlockingIOError:
                return
            if count == 0:
                return
            self._errors_size += count
            if self._errors_size > STDERR_KEPT:
                begin = self._errors_size - STDERR_KEPT
                view[:STDERR_KEPT] = view[begin : self._errors_size]
                self._errors_size = STDERR_KEPT
            if count < CHUNK:
                return

    def errors(self) -> memoryview | bytes:
        """The last bytes of standard error that were taken since `forget_errors`."""
        return b"" if self._errors is None else self._errors[: self._errors_size]

    def forget_errors(self) -> None:
        """Starts standard error anew."""
        self._errors_size = 0

    def kill(self) -> None:
        """Kills the process, whatever signals it ignores."""
        try:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def reap(self) -> int:
        """Waits for the death of the process; answers its wait status and closes everything."""
        _, status, self.usage = os.wait4(self.pid, 0)
        for fd in (self.stdin, self.stdout, self.report, self.control, self.stderr, self.pidfd):
            os.close(fd)
        if self._memory is not None:
            os.close(self._memory)
        return status

