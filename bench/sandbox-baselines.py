"""The two loops that the sandbox is measured against, each in its plainest form.

spawn: one `subprocess.run` per test, as in the tutorial; the program lies in a file.
floor: one fork per program of a warm interpreter, its tests run inside; no limit, no layer.

Reads one JSON line per round, {"loop", "workers", "source", "inputs", "expected"}, where every
program runs on its list of inputs; answers the seconds it took. Ends at the end of its input.
"""

import bisect, collections, copy, functools, heapq, io, itertools, math, operator  # noqa: E401, F401
import gc
import json
import os
import random, re, string, typing  # noqa: E401, F401
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor


def spawn_program(source: str, inputs: list[str], expected: list[str]) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(source)
        file.flush()
        for text, wanted in zip(inputs, expected):
            done = subprocess.run(
                [sys.executable, file.name], input=text, capture_output=True, text=True, timeout=10
            )
            assert done.stdout.strip() == wanted, done


def fork_program(source: str, inputs: list[str], expected: list[str]) -> None:
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = compile(source, "program.py", "exec")
        outputs = []
        for text in inputs:
            sys.stdin, sys.stdout = io.StringIO(text), io.StringIO()
            exec(code, {"__name__": "__main__"})
            outputs.append(sys.stdout.getvalue())
        os.write(theirs, json.dumps(outputs).encode())
        os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as file:
        outputs = json.load(file)
    os.waitpid(pid, 0)
    assert [output.strip() for output in outputs] == expected


def measure(loop: str, workers: int, source: str, inputs: list, expected: list) -> float:
    started = time.perf_counter()
    if loop == "spawn":
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(spawn_program, [source] * len(inputs), inputs, expected))
        return time.perf_counter() - started
    pids = []
    for worker in range(workers):
        pid = os.fork()
        if pid == 0:
            for one, wanted in list(zip(inputs, expected))[worker::workers]:
                fork_program(source, one, wanted)
            os._exit(0)
        pids.append(pid)
    assert all(os.waitpid(pid, 0)[1] == 0 for pid in pids)
    return time.perf_counter() - started


gc.freeze()
for line in sys.stdin:
    print(measure(**json.loads(line)), flush=True)
