"""What a command is told to run, and what it may touch."""
from __future__ import annotations

from typing import NamedTuple

import landlock

WRITE_RIGHTS = 0b1_0001_1011_1111 | 1 << 13 | landlock.TRUNCATE
READ_RIGHTS = landlock.READ | landlock.READ_DIR
DEVICE_RIGHTS = landlock.READ | landlock.WRITE | landlock.TRUNCATE
DEVICES = ("/dev/null", "/dev/urandom", "/dev/random")


class Command(NamedTuple):
    """What to run and what it may touch."""

    argv: list[str]
    env: dict[str, str]
    cwd: str
    # native: one process with threads; tree: may fork; compile: may also change files
    profile: str
    read: list[str]
    execute: list[str]
    write: list[str]
    # Whether to run as the server's user for programs, where there is one.
    own_user: bool
    # Bytes of address space; None for runtimes that reserve far more than they use.
    address_bytes: int | None
    # Bytes of private writable memory, for those.
    data_bytes: int | None
    file_bytes: int


def rights_of(command: Command) -> dict[str, int]:
    """What the command may do with which files."""
    rights = {path: READ_RIGHTS for path in [*command.read, "/proc/self"]}
    rights.update({path: READ_RIGHTS | landlock.EXECUTE for path in command.execute})
    rights.update({path: WRITE_RIGHTS for path in command.write})
    rights.update({path: DEVICE_RIGHTS for path in DEVICES})
    return rights
