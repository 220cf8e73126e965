"""The fork server: a slim, warm interpreter that forks one locked-down process per program.

Covered: no network, no files but the standard library, no processes, no signals to others, limits
on time, memory and output, nothing left over. Not covered: flaws of the kernel itself, and time or
cache side channels. docs/SECURITY.md has the details layer by layer.

Started by src/verify/sandbox/connection.ts with one argument, the settings as JSON; link.py
describes what is spoken. Standard library only, Python 3.9 or newer, Linux.
"""
from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections import deque
from typing import NoReturn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import calls  # noqa: E402, F401 - sessions find it loaded, before any program has run
import link  # noqa: E402
import outer  # noqa: E402
import setup  # noqa: E402
import worker  # noqa: E402
from child import Child  # noqa: E402
from command_job import CommandJob, command_of  # noqa: E402
from hidden import hidden  # noqa: E402
from jobs import Job, limits_of  # noqa: E402
from loop import READABLE, WRITABLE, Loop  # noqa: E402
from session_job import SessionJob  # noqa: E402
from tests_job import TestsJob  # noqa: E402

OUTPUT_BYTES = 1 << 18
# Modules that programs use most; each one more makes every fork dearer.
WARM = "bisect collections copy functools heapq io itertools math operator random re string typing"


class Server:
    """One loop over the descriptors of Node and of every child."""

    def __init__(self, settings: dict) -> None:
        self._own_modules = setup.own_modules()
        self.layers, report = setup.prepare(settings)
        requests, answers = setup.take_standard_streams()
        self.link = link.Link(requests, answers)
        # Made here, in the process that serves: fork leaves hidden memory out.
        self.output = memoryview(hidden(OUTPUT_BYTES))
        self._loop = Loop()
        self._loop.listen(requests, READABLE, self._serve_requests)
        self._answers = answers
        self._jobs: dict[int, Job] = {}
        self._queue: deque[Job] = deque()
        # The job that runs; sessions run beside it.
        self._running: Job | None = None
        self._spare: Child | None = None
        self._me = os.getpid()
        gc.collect()
        gc.freeze()
        gc.disable()
        self._spare = self._spawn()
        self.link.send(link.READY, 0, stdout=json.dumps(report).encode())

    def serve(self) -> NoReturn:
        """Serves until Node goes."""
        while True:
            now = time.monotonic()
            due = min((job.look_at for job in self._jobs.values() if job.look_at), default=None)
            timeout = None if due is None else max(0.0, due - now) + 0.0005
            self._loop.round(timeout)
            self._watch_answers()
            now = time.monotonic()
            for job in list(self._jobs.values()):
                if job.look_at is not None and job.look_at <= now and job.child is not None:
                    job.look(now)

    def _serve_requests(self) -> None:
        try:
            for header, body in self.link.requests():
                self._take(header, body)
        except EOFError:
            self.end()

    def _take(self, header: dict, body: memoryview) -> None:
        verb, job_id = header["op"], header["id"]
        if verb == "ping":
            self.link.send(link.ALIVE, job_id)
        elif verb == "send":
            session = self._jobs.get(job_id)
            if session is not None:
                session.take(body, header["goes_on"])
        elif verb == "cancel":
            job = self._jobs.get(job_id)
            if job is not None:
                self.cancel(job)
        elif verb == "session":
            session = SessionJob(self, job_id, limits_of(header), header["role"])
            self._jobs[job_id] = session
            session.start()
        elif verb == "run":
            self._enqueue(TestsJob(self, job_id, limits_of(header), body))
        elif verb == "command":
            command = command_of(header)
            self._enqueue(CommandJob(self, job_id, limits_of(header), body, command))

    def _enqueue(self, job: Job) -> None:
        self._jobs[job.id] = job
        if self._running is None:
            self._running = job
            job.start()
        else:
            self._queue.append(job)

    def take_spare(self) -> Child:
        """A process that was forked beforehand and waits for its program."""
        child, self._spare = self._spare, None
        return child if child is not None else self._spawn()

    def _spawn(self) -> Child:
        layers, me, own = self.layers, self._me, self._own_modules
        return Child(lambda ends: worker.serve(ends, layers, me, own))

    def children(self) -> frozenset[int]:
        """The processes that are no leftovers."""
        known = {job.child.pid for job in self._jobs.values() if job.child is not None}
        return frozenset(known | ({self._spare.pid} if self._spare is not None else set()))

    def watch(self, child: Child, job: Job) -> None:
        """Tells the job of what happens to the child; meanwhile forks the next one."""
        for fd, handler in (
            (child.report, job.on_report),
            (child.stderr, child.take_errors),
            (child.pidfd, job.on_death),
        ):
            self._loop.listen(fd, READABLE, handler)
        if self._spare is None:
            self._spare = self._spawn()

    def unwatch(self, child: Child) -> None:
        """Stops telling."""
        for fd in (child.report, child.stderr, child.pidfd, child.control):
            self._loop.forget(fd)

    def watch_report(self, job: Job) -> None:
        self._loop.listen(job.child.report, READABLE, job.on_report)

    def unwatch_report(self, child: Child) -> None:
        self._loop.forget(child.report)

    def watch_control(self, session: SessionJob) -> None:
        self._loop.listen(session.child.control, WRITABLE, session.on_writable)

    def unwatch_control(self, child: Child) -> None:
        self._loop.forget(child.control)

    def cancel(self, job: Job) -> None:
        """Ends a job that nobody wants more of."""
        self.link.send(link.DONE, job.id)
        self.finish(job)

    def fail(self, job: Job, reason: str) -> None:
        """Ends a job for a fault of the sandbox's own."""
        self.link.send(link.FAILURE, job.id, stdout=reason.encode("utf-8", "replace"))
        self.finish(job)

    def finish(self, job: Job) -> None:
        """Ends a job and starts the next one that waits."""
        if self._jobs.pop(job.id, None) is None:
            return
        if self._running is job:
            self._running = self._queue.popleft() if self._queue else None
            if self._running is not None:
                self._running.start()
        elif job in self._queue:
            self._queue.remove(job)
        job.drop_child()

    def _watch_answers(self) -> None:
        """Waits for room in Node's pipe when something is left to send."""
        is_watched = self._answers in self._loop
        if self.link.is_clear == is_watched:
            if is_watched:
                self._loop.forget(self._answers)
            else:
                self._loop.listen(self._answers, WRITABLE, self._drain)

    def _drain(self) -> None:
        self.link.flush()
        if self.link.is_clear:
            for job in list(self._jobs.values()):
                job.resume()

    def end(self) -> NoReturn:
        """Ends every process and this one."""
        for job in list(self._jobs.values()):
            job.drop_child()
        if self._spare is not None:
            self._spare.kill()
        os._exit(0)


if __name__ == "__main__":
    setup.set_stack_limit()
    main_settings = json.loads(sys.argv[1])
    main_settings["server_pid"] = os.getpid()
    main_settings["namespaces"] = outer.enter() if main_settings["outer"] else ([], "")
    setup.warm(WARM.split() + main_settings["preload"], main_settings["paths"])
    Server(main_settings).serve()
