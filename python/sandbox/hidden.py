"""Memory that forked processes do not inherit: where sources, inputs and outputs pass through.

The server forks a program's process from itself. Whatever lay in its ordinary heap could be found
there by a program that looks for another's; what lies in these mappings cannot.
"""
from __future__ import annotations

import mmap

PAGE = mmap.PAGESIZE


def hidden(size: int) -> mmap.mmap:
    """A private mapping of at least `size` bytes that fork leaves out.

    Only for the process that makes it: in one that is forked later the addresses are free for
    other mappings, and the object there must never be touched.
    """
    memory = mmap.mmap(-1, max(size, PAGE), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_DONTFORK)
    return memory
