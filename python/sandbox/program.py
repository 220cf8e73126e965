"""Runs a program once per test, each time as a fresh `__main__`, as an interpreter would.

Everything here runs as the program's equal: nothing it reports is believed beyond the bytes the
program printed.
"""
from __future__ import annotations

import atexit
import io
import os
import random
import sys
import threading
import time
from resource import RUSAGE_SELF, getrusage
from types import CodeType, ModuleType

from channel import CONTROL, STDERR, STDIN, STDOUT, note

SOURCE_NAME = "solution.py"


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
