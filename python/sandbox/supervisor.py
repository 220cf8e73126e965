"""Runs a command once per test, in a trusted process of its own between server and program.

It is the reaper of everything the program starts, so that nothing survives a test, and it counts
the processor time and memory of all of it together.
"""
from __future__ import annotations

import os
import resource
import select
import signal
import struct
import time
from typing import NoReturn

import harden
import kernel
import landlock
import link
import seccomp
from channel import CONTROL, REPORT, STDERR, STDIN, STDOUT, Ends, settle
from command import Command, rights_of
from jobs import CPU_SLACK_S, Limits
from processes import descendants, starved_seconds, sweep

# end, code, cpu and wall in µs, peak in KiB
RESULT = struct.Struct("<BBxxIII")
# Ends that say nothing about the program, known to the server alone.
NOT_STARTED, KILLED = 254, 255
# Descriptor by which a process says why it could not become the program; exec closes it.
FAILURE = 3
# Processes of one program at a time; threads are counted too.
MOST_PROCESSES = 64
# How often time, memory and output are looked at; compiled programs touch memory fast.
LOOK_S = 0.01


def serve(ends: Ends, layers: harden.Layers, command: Command, limits: Limits) -> NoReturn:
    """Runs the command each time the server says so, until the server hangs up."""
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    settle(ends, None)
    if not command.own_user:
        layers = layers._replace(uid=None)
    while os.read(CONTROL, 1):
        os.write(REPORT, RESULT.pack(*Run(layers, command, limits).result()))
    os._exit(0)


class Run:
    """One run of the command."""

    def __init__(self, layers: harden.Layers, command: Command, limits: Limits) -> None:
        self._layers, self._command, self._limits = layers, command, limits
        self._is_tree = command.profile in ("tree", "compile")
        self._peak = 0
        self._base = children_seconds()
        self._started = time.monotonic()
        os.lseek(STDIN, 0, os.SEEK_SET)
        me = os.getpid()
        self._failure, failure = os.pipe2(os.O_CLOEXEC)
        self._pid = os.fork()
        if self._pid == 0:
            self._become_program(me, failure)
        os.close(failure)
        self._clock = (~self._pid << 3) | 2

    def result(self) -> tuple[int, int, int, int, int]:
        """Waits for the end; answers end, code, cpu and wall in µs, peak in KiB."""
        end, code = self._end(self._wait())
        wall = time.monotonic() - self._started
        cpu = children_seconds() - self._base
        peak = max(self._peak, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
        if end in (link.EXITED, link.SIGNALED, KILLED):
            if cpu > self._limits.cpu_s + CPU_SLACK_S:
                end = link.CPU_LIMIT
            elif peak * 1024 > self._limits.memory_bytes:
                end = link.MEMORY_LIMIT
        return end, code, int(cpu * 1e6), int(wall * 1e6), peak

    def _wait(self) -> int | None:
        """Waits for the program itself; answers the limit for which it has to be ended."""
        pidfd = os.pidfd_open(self._pid)
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        poll.register(CONTROL, select.POLLIN)
        wall_end = self._started + self._limits.wall_s
        try:
            while True:
                left = wall_end - time.monotonic()
                events = dict(poll.poll(max(0.001, min(left, LOOK_S)) * 1000))
                if CONTROL in events:
                    # The server has gone, or nobody wants the result.
                    sweep()
                    os._exit(0)
                if pidfd in events:
                    return None
                limit = self._passed_limit()
                if limit is not None:
                    return limit
                now = time.monotonic()
                if now >= wall_end and now >= wall_end + self._starved():
                    return link.WALL_LIMIT
        finally:
            os.close(pidfd)

    def _starved(self) -> float:
        tree = descendants(os.getpid()) if self._is_tree else [self._pid]
        return max((starved_seconds(pid, self._limits.wall_s) for pid in tree), default=0.0)

    def _passed_limit(self) -> int | None:
        limits = self._limits
        tree = descendants(os.getpid()) if self._is_tree else [self._pid]
        cpu = children_seconds() - self._base + sum(map(live_seconds, tree))
        memory = sum(map(resident_bytes, tree))
        self._peak = max(self._peak, memory // 1024)
        if cpu > limits.cpu_s + CPU_SLACK_S:
            return link.CPU_LIMIT
        if len(tree) > MOST_PROCESSES:
            return link.SIGNALED
        if memory > limits.memory_bytes:
            return link.MEMORY_LIMIT
        if os.fstat(STDOUT).st_size > limits.output_bytes:
            return link.OUTPUT_LIMIT
        return None

    def _end(self, limit: int | None) -> tuple[int, int]:
        if limit is not None:
            sweep()
            os.close(self._failure)
            return limit, signal.SIGKILL if limit == link.SIGNALED else 0
        status = os.waitpid(self._pid, 0)[1]
        # What it left behind dies with it; its own end is what counts.
        sweep()
        why = os.read(self._failure, 4096)
        os.close(self._failure)
        if why:
            os.write(STDERR, why)
            return NOT_STARTED, 0
        if os.fstat(STDOUT).st_size > self._limits.output_bytes:
            return link.OUTPUT_LIMIT, 0
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number == signal.SIGXCPU:
                return link.CPU_LIMIT, 0
            # Trees may kill themselves; to all others the filter refuses the signal.
            is_ours = self._command.profile == "tree" or self._layers.filter is None
            if number == signal.SIGKILL and not is_ours:
                return KILLED, 0
            return link.SIGNALED, number
        return link.EXITED, os.WEXITSTATUS(status)

    def _become_program(self, parent: int, failure: int) -> NoReturn:
        """In the forked process: puts on the layers and turns into the program."""
        try:
            command, layers = self._command, self._layers
            harden.die_with(parent)
            for number, end in enumerate((STDIN, STDOUT, STDERR)):
                os.dup2(end, number)
            os.dup2(failure, FAILURE, inheritable=False)
            os.closerange(FAILURE + 1, 1 << 16)
            os.chdir(command.cwd)
            harden.first_to_die()
            cpu_s = int(self._limits.cpu_s) + 2
            largest = max(command.file_bytes, self._limits.output_bytes + 1)
            harden.set_limits(cpu_s, command.address_bytes, largest, command.data_bytes)
            confined = layers.uid is not None or layers.landlock_abi >= 6
            if self._is_tree:
                harden.limit_processes(layers.uid is not None, MOST_PROCESSES)
            rules = code = None
            if layers.landlock_abi:
                rules = landlock.ruleset(layers.landlock_abi, rights_of(command))
            if layers.filter is not None:
                code = seccomp.build(layers.machine, command.profile, confined)
            harden.lock_down(layers, parent, rules, code)
            os.execve(command.argv[0], command.argv, command.env)
        except BaseException as error:
            os.write(FAILURE, f"{error!r}".encode("utf-8", "replace"))
        os._exit(127)


def children_seconds() -> float:
    """Processor time of every process that has been waited for, with what those waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def live_seconds(pid: int) -> float:
    """Processor time of a process and of the children it has waited for."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        own = time.clock_gettime((~pid << 3) | 2)
    except (OSError, IndexError):
        return 0.0
    return own + (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    """Resident memory; 0 once it has died."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0
