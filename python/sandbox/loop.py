"""Descriptors and what to do when they are ready."""
from __future__ import annotations

import select
from collections.abc import Callable

READABLE, WRITABLE = select.POLLIN, select.POLLOUT


class Loop:
    """A poll with a handler per descriptor."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[], None]] = {}

    def __contains__(self, fd: int) -> bool:
        return fd in self._handlers

    def listen(self, fd: int, events: int, handler: Callable[[], None]) -> None:
        """Calls the handler whenever the descriptor is ready."""
        self._handlers[fd] = handler
        self._poll.register(fd, events)

    def forget(self, fd: int) -> None:
        """Stops that."""
        if self._handlers.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def round(self, timeout_s: float | None) -> None:
        """Waits once and calls the handlers of what is ready, the latest registered first.

        Poll looks at descriptors in the order of registration, so that what it finds of an early
        one is still true when it looks at a late one. Handling them backwards lets a handler count
        on that: of a child, errors are registered after reports, and all errors written before a
        report are taken before it.
        """
        for fd, _ in reversed(self._poll.poll(None if timeout_s is None else timeout_s * 1000)):
            # A handler may have forgotten a descriptor that comes later in this round.
            handler = self._handlers.get(fd)
            if handler is not None:
                handler()
