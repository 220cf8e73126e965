"""What the server and its children say to each other, and over which descriptors."""
from __future__ import annotations

import os
import struct
from fcntl import F_DUPFD_CLOEXEC, fcntl
from typing import NamedTuple

# Descriptors of this process: where it reports and is told, then the three standard ones.
REPORT, CONTROL, STDIN, STDOUT, STDERR = 3, 4, 5, 6, 7
# memory, output, largest file, seconds of processor (0: no backstop), length of source, role
ORDER = struct.Struct("<QQQIIB")
# kind, exit code, whether memory ran out, and a figure: of C(ompiled) the processor time so far in
# microseconds, of D(one) the largest resident memory in KiB, of E (compile error) nothing
NOTE = struct.Struct("<cBBxI")


class Ends(NamedTuple):
    """The child's ends of what it shares with the server, as descriptors."""

    report: int
    control: int
    stdin: int
    stdout: int
    stderr: int


def note(kind: bytes, code: int = 0, out_of_memory: bool = False, figure: int = 0) -> None:
    """Reports to the server."""
    os.write(REPORT, NOTE.pack(kind, code & 255, out_of_memory, figure))


def settle(ends: Ends, rules: int | None) -> None:
    """Moves the ends to their numbers and closes all else, the server's descriptors included."""
    high = [fcntl(end, F_DUPFD_CLOEXEC, 200) for end in ends]
    for number, end in zip((REPORT, CONTROL, STDIN, STDOUT, STDERR), high):
        os.dup2(end, number, inheritable=False)
    if rules is None:
        os.closerange(8, 1 << 16)
    else:
        os.closerange(8, rules)
        os.closerange(rules + 1, 1 << 16)
