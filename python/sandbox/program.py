"""Runs a program once per test, each time as a fresh `__main__`, as an interpreter would.

Everything here runs as the program's equal: nothing it reports is believed beyond the bytes the
program printed.
"""
from __future__ import annotations

import atexit
import builtins
import gc
import io
import os
import random
import resource
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
    has_finalizers = b"__del__" in source
    # No line of the program has run so far, so that this figure can be believed.
    note(b"C", figure=int(time.process_time() * 1e6))
    while os.read(CONTROL, 1):
        aim_standard_streams()
        status, out_of_memory, is_clean = run_once(code, has_finalizers)
        if not is_clean:
            # Threads or exit handlers would show in the next test: end as an interpreter ends.
            os._exit(status)
        note(b"D", status, out_of_memory, getrusage(RUSAGE_SELF).ru_maxrss)


def allow_stack_limit() -> None:
    """Lets programs ask for a deeper stack, as many do that recurse. The sandbox refuses every change
    of a limit; the stack is as large as it gets, so that the refusal is nothing to fail for."""
    set_limit = resource.setrlimit

    def setrlimit(kind: int, limits: tuple[int, int]) -> None:
        try:
            set_limit(kind, limits)
        except ValueError as error:
            if kind != resource.RLIMIT_STACK or "not allowed" not in str(error):
                raise

    resource.setrlimit = setrlimit


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


def open_streams() -> list[io.IOBase]:
    """Gives the program fresh standard streams, as a new interpreter would; answers those that
    hold output of its."""
    read = io.BufferedReader(io.FileIO(0, "r", closefd=False))
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(read, "utf-8", "surrogateescape")
    write = io.BufferedWriter(io.FileIO(1, "w", closefd=False))
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(write, "utf-8", "surrogateescape")
    errors = io.BufferedWriter(io.FileIO(2, "w", closefd=False))
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(
        errors, "utf-8", "backslashreplace", line_buffering=True
    )
    return [sys.stdout, write, sys.stderr, errors]


def flush(stream: object) -> bool:
    """Flushes as the interpreter does at its end; answers whether that failed."""
    try:
        if stream is not None and not getattr(stream, "closed", False):
            stream.flush()
    except BaseException:
        return True
    return False


def flush_standard() -> bool:
    """Flushes what the program left as its standard streams; answers whether one failed."""
    # Both, also when the first fails.
    return any([flush(getattr(sys, name, None)) for name in ("stdout", "stderr")])


def free(has_finalizers: bool, own: list[io.IOBase]) -> None:
    """Frees what the program made, as at the end of an interpreter: that closes, hence flushes, what
    it had opened, and runs its finalizers. What it printed and nobody flushed must not wait for the
    next test's output."""
    main = sys.modules.pop("__main__", None)
    if not has_finalizers and isinstance(main, ModuleType):
        main.__dict__.clear()
    # Else the collector frees all at once, so that finalizers find the program's globals.
    del main
    gc.collect()
    flush_standard()
    sys.stdin = sys.stdout = sys.stderr = sys.__stdout__ = None
    for stream in own:
        flush(stream)


def new_main() -> ModuleType:
    """An empty `__main__`."""
    main = ModuleType("__main__")
    main.__file__ = SOURCE_NAME
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    return main


def run_once(code: CodeType, has_finalizers: bool) -> tuple[int, bool, bool]:
    """Runs the program as `__main__`; answers exit code, out of memory, and whether it left none
    of its own threads and exit handlers behind."""
    own = open_streams()
    sys.argv = [SOURCE_NAME]
    sys.setrecursionlimit(1000)
    random.seed(0)
    handlers = atexit._ncallbacks()
    status, out_of_memory = 0, False
    try:
        exec(code, new_main().__dict__)
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
    for stream in own:
        flush(stream)
    if flush_standard():
        status = status or 120
    free(has_finalizers, own)
    return status, out_of_memory, is_clean


def status_of(code: object) -> int:
    """The exit code that sys.exit(code) means."""
    if code is None or isinstance(code, int):
        return int(code or 0) & 255
    try:
        print(code, file=sys.stderr)
    except BaseException:
        pass
    return 1


def show(error: BaseException) -> None:
    """Prints an uncaught exception as the interpreter would, without this file's own frames."""
    try:
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    except BaseException:
        pass
