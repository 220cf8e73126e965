"""Runs before a checker (src/verify/checker.ts): makes the texts it reads look like files.

Standard input holds four lines of JSON: the texts named `input`, `output` and `answer`, and the
names in the order in which the checker takes them as arguments. The sandbox gives a program no
folder to write to, so `open` answers for the three names.
"""

import builtins as _builtins
import io as _io
import json as _json
import os as _os
import sys as _sys

# testlib's own code for a checker that fails: no exit that is meant to say "wrong" has it.
_CRASHED = 3

_texts = [_json.loads(_sys.stdin.readline()) for _ in range(3)]
_sys.argv = ["checker"] + _json.loads(_sys.stdin.readline())
_sys.stdin = _io.StringIO("")
_files = {_os.path.abspath(name): text for name, text in zip(("input", "output", "answer"), _texts)}
_real_open = _builtins.open


def _open(file, mode="r", *rest, **named):
    path = file if isinstance(file, int) else _os.path.abspath(_os.fsdecode(file))
    if path in _files and "r" in mode:
        text = _files[path]
        return _io.BytesIO(text.encode()) if "b" in mode else _io.StringIO(text)
    return _real_open(file, mode, *rest, **named)


# pathlib reads by io.open.
_builtins.open = _io.open = _open


def _run(source):
    """Runs the checker; an exception that it does not catch ends in `_CRASHED`, since Python's own
    code for that is 1, and what stands on standard error may be what the judged program printed."""
    try:
        exec(compile(source, "checker.py", "exec"), {"__name__": "__main__"})
    except SystemExit:
        raise
    except BaseException as error:
        _sys.__excepthook__(type(error), error, error.__traceback__)
        _sys.exit(_CRASHED)
