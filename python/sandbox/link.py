"""The wire between Node and the server: frames in on one descriptor, frames out on another.

In:  u32 length of the header, u32 length of the body, the header (JSON), the body (bytes).
Out: u32 length of what follows, then a fixed head (see HEAD), standard error, standard output.
Bodies pass through hidden memory only.
"""
from __future__ import annotations

import json
import os
import struct
from collections import deque
from collections.abc import Iterator

from hidden import hidden

LENGTHS = struct.Struct("<II")
# length, frame, end, code, flags, job, test, cpu and wall in µs, peak in KiB, bytes of stderr
HEAD = struct.Struct("<IBBBBIIIIII")
READY, OUTCOME, DONE, MESSAGE, FAILURE, ALIVE = range(6)
# How a test ended; EXITED and SIGNALED carry a code.
EXITED, SIGNALED, CPU_LIMIT, WALL_LIMIT, MEMORY_LIMIT, OUTPUT_LIMIT, COMPILE_ERROR = range(7)
# The test was the first of its process; no outcome of this job follows.
FIRST, LAST = 1, 2
ARENA_BYTES = 1 << 18
U32 = (1 << 32) - 1


class Link:
    """Reads requests and writes answers without ever waiting for Node."""

    def __init__(self, fd_in: int, fd_out: int) -> None:
        self._in, self._out = fd_in, fd_out
        os.set_blocking(fd_out, False)
        self._arena = hidden(ARENA_BYTES)
        self._view = memoryview(self._arena)
        self._have = 0
        # The request whose body is still coming: header, body, its length, bytes so far.
        self._open: tuple[dict, memoryview, int] | None = None
        self._unsent: deque[memoryview] = deque()

    @property
    def is_clear(self) -> bool:
        """Whether everything has been written."""
        return not self._unsent

    def requests(self) -> Iterator[tuple[dict, memoryview]]:
        """Reads what is there and yields each request that is complete.

        Raises EOFError when Node has gone.
        """
        if self._open is not None:
            header, body, have = self._open
            have += self._read(body[have:])
            self._open = (header, body, have)
            if have == len(body):
                self._open = None
                yield header, body
            return
        self._have += self._read(self._view[self._have :])
        start = 0
        while self._open is None and self._have - start >= LENGTHS.size:
            header_size, body_size = LENGTHS.unpack_from(self._view, start)
            begin = start + LENGTHS.size + header_size
            if self._have < begin:
                break
            header = json.loads(bytes(self._view[start + LENGTHS.size : begin]))
            taken = min(body_size, self._have - begin)
            start = begin + taken
            body = memoryview(hidden(body_size))[:body_size] if body_size else memoryview(bytearray())
            body[:taken] = self._view[begin:start]
            if taken == body_size:
                yield header, body
            else:
                self._open = (header, body, taken)
        self._arena.move(0, start, self._have - start)
        self._have -= start

    def _read(self, into: memoryview) -> int:
        count = os.readv(self._in, [into])
        if count == 0:
            raise EOFError
        return count

    def send(
        self,
        frame: int,
        job: int,
        end: int = 0,
        code: int = 0,
        flags: int = 0,
        test: int = 0,
        figures: tuple[int, int, int] = (0, 0, 0),
        stderr: memoryview | bytes = b"",
        stdout: memoryview | bytes = b"",
    ) -> None:
        """Sends one frame; what does not fit into the pipe follows by `flush`."""
        cpu, wall, peak = figures
        size = HEAD.size - 4 + len(stderr) + len(stdout)
        head = HEAD.pack(
            size, frame, end, code, flags, job, test,
            min(cpu, U32), min(wall, U32), min(peak, U32), len(stderr),
        )
        parts = [head, stderr, stdout]
        sent = 0
        if not self._unsent:
            try:
                sent = os.writev(self._out, parts)
            except BlockingIOError:
                sent = 0
        left = size + 4 - sent
        if left:
            self._keep(parts, sent, left)

    def _keep(self, parts: list, sent: int, left: int) -> None:
        rest = memoryview(hidden(left))[:left]
        at = 0
        for part in parts:
            skip = min(sent, len(part))
            sent -= skip
            piece = memoryview(part)[skip:]
            rest[at : at + len(piece)] = piece
            at += len(piece)
        self._unsent.append(rest)

    def flush(self) -> None:
        """Writes what is left, as far as it goes."""
        while self._unsent:
            try:
                sent = os.writev(self._out, [self._unsent[0]])
            except BlockingIOError:
                return
            rest = self._unsent.popleft()[sent:]
            if len(rest):
                self._unsent.appendleft(rest)
                return
