"""The untrusted side: one process per program, which locks itself down and runs its tests.

Everything here runs as the program's equal: nothing it reports is believed beyond the bytes the
program printed. The server keeps time, counts memory and reads the output by itself.
"""
from __future__ import annotations

import atexit
import gc
import io
import os
import random
import struct
import sys
import threading
import time
from resource import RUSAGE_SELF, getrusage
from types import CodeType, ModuleType
from typing import NamedTuple, NoReturn

import harden

# Descriptors of this process: where it reports and is told, then the three standard ones.
REPORT, CONTROL, STDIN, STDOUT, STDERR = 3, 4, 5, 6, 7
# memory, output, largest file, seconds of processor (0: no backstop), length of source, role
ORDER = struct.Struct("<QQQIIB")
# kind, exit code, whether memory ran out, and a figure: of C(ompiled) the processor time so far in
# microseconds, of D(one) the largest resident memory in KiB, of E (compile error) nothing
NOTE = struct.Struct("<cBBxI")
ROLES = {1: "candidate", 2: "tests"}
SOURCE_NAME = "solution.py"


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


def serve(ends: Ends, layers: harden.Layers, parent: int, own_modules: list[str]) -> NoReturn:
    """Waits for a program, runs it and never returns."""
    status = 111
    try:
        harden.die_with(parent)
        settle(ends, layers.rules)
        order = ORDER.unpack(os.read(CONTROL, ORDER.size))
        memory, _, file_bytes, cpu_s, length, role = order
        source = os.pread(STDOUT, length, 0) if length else b""
        while len(source) < length:
            source += os.pread(STDOUT, length - len(source), len(source))
        os.ftruncate(STDOUT, 0)
        harden.first_to_die()
        harden.set_limits(cpu_s or None, memory + harden.ADDRESS_SPARE, file_bytes)
        harden.lock_down(layers, parent, layers.rules, layers.filter)
        gc.enable()
        if role:
            converse(ROLES[role], own_modules)
        forget(own_modules)
        run_tests(source)
        status = 0
    except EOFError:
        status = 0
    except BaseException as error:
        os.write(STDERR, f"sandbox: {error!r}".encode("utf-8", "replace"))
    os._exit(status)


def forget(own_modules: list[str]) -> None:
    """Leaves none of the sandbox's modules for the program's imports to find."""
    for name in own_modules:
        sys.modules.pop(name, None)


def settle(ends: Ends, rules: int | None) -> None:
    """Moves the ends to their numbers and closes all else, the server's descriptors included."""
    from fcntl import F_DUPFD_CLOEXEC, fcntl

    high = [fcntl(end, F_DUPFD_CLOEXEC, 200) for end in ends]
    for number, end in zip((REPORT, CONTROL, STDIN, STDOUT, STDERR), high):
        os.dup2(end, number, inheritable=False)
    if rules is None:
        os.closerange(8, 1 << 16)
    else:
        os.closerange(8, rules)
        os.closerange(rules + 1, 1 << 16)


def run_tests(source: bytes) -> None:
    """Compiles the program once and runs it once per standard input, as the server tells."""
    aim_standard_streams()
    code = compile_program(source)
    if code is None:
        return
    # No line of the program has run so far, so that this figure can be believed.
    note(b"C", figure=int(time.process_time() * 1e6))
    while os.read(CONTROL, 1):
        aim_standard_streams()
        status, out_of_memory, is_clean = run_once(code)
        if not is_clean:
            # Threads or exit handlers would show in the next test: end as an interpreter ends.
            os._exit(status)
        note(b"D", status, out_of_memory, getrusage(RUSAGE_SELF).ru_maxrss)


def aim_standard_streams() -> None:
    """Puts the standard descriptors back, wherever the last test left them."""
    os.dup2(STDIN, 0)
    os.dup2(STDOUT, 1)
    os.dup2(STDERR, 2)
    os.lseek(0, 0, os.SEEK_SET)


def compile_program(source: bytes) -> CodeType | None:
    """Compiles, or says why not on standard error and reports a compile error."""
    try:
        return compile(source, SOURCE_NAME, "exec", dont_inherit=True)
    except MemoryError:
        note(b"E", 1, True)
    except (SyntaxError, ValueError, RecursionError, OverflowError) as error:
        open_streams()
        sys.__excepthook__(type(error), error.with_traceback(None), None)
        sys.stderr.flush()
        note(b"E", 1)
    return None


def open_streams() -> None:
    """Gives the program fresh standard streams, as a new interpreter would."""
    read = io.BufferedReader(io.FileIO(0, "r", closefd=False))
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(read, "utf-8", "surrogateescape")
    write = io.BufferedWriter(io.FileIO(1, "w", closefd=False))
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(write, "utf-8", "surrogateescape")
    write = io.BufferedWriter(io.FileIO(2, "w", closefd=False))
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(
        write, "utf-8", "backslashreplace", line_buffering=True
    )


def new_main() -> ModuleType:
    """An empty `__main__`."""
    main = ModuleType("__main__")
    main.__file__ = SOURCE_NAME
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    return main


def run_once(code: CodeType) -> tuple[int, bool, bool]:
    """Runs the program as `__main__`; answers exit code, out of memory, and whether it left none
    of its own threads and exit handlers behind."""
    open_streams()
    sys.argv = [SOURCE_NAME]
    sys.setrecursionlimit(1000)
    random.seed(0)
    handlers = atexit._ncallbacks()
    main = new_main()
    status, out_of_memory = 0, False
    try:
        exec(code, main.__dict__)
    except SystemExit as end:
        status = status_of(end.code)
    except BaseException as error:
        status, out_of_memory = 1, isinstance(error, MemoryError)
        show(error)
    is_clean = threading.active_count() == 1 and not threading._threading_atexits
    if not is_clean:
        threading._shutdown()
    if atexit._ncallbacks() > handlers:
        is_clean = False
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            status = status or 120
    # As at the end of an interpreter: closes, hence flushes, what the program had opened itself.
    main.__dict__.clear()
    return status, out_of_memory, is_clean


def status_of(code: object) -> int:
    """The exit code that sys.exit(code) means."""
    if code is None or isinstance(code, int):
        return int(code or 0) & 255
    print(code, file=sys.stderr)
    return 1


def show(error: BaseException) -> None:
    """Prints an uncaught exception as the interpreter would, without this file's own frames."""
    try:
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    except BaseException:
        pass


def converse(role: str, own_modules: list[str]) -> NoReturn:
    """Runs a session: from here on the two pipes carry its messages, one a line."""
    import calls

    forget(own_modules)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(null, number)
    os.dup2(STDERR, 2)
    calls.serve(role, CONTROL, REPORT)
