"""Runs before a checker (src/verify/checker.ts): makes the texts it reads look like files.

Standard input holds four lines of JSON: the texts named `input`, `output` and `answer`, and the
names in the order in which the checker takes them as arguments. The sandbox gives a program no
folder to write to, so `open` answers for the three names.
"""

import builtins as _builtins
import io as _io
import json as _json
import sys as _sys

_texts = [_json.loads(_sys.stdin.readline()) for _ in range(3)]
_sys.argv = ["checker"] + _json.loads(_sys.stdin.readline())
_sys.stdin = _io.StringIO("")
_files = dict(zip(("input", "output", "answer"), _texts))
_real_open = _builtins.open


def _open(file, mode="r", *rest, **named):
    if isinstance(file, (str, bytes)) and file in _files and "r" in mode:
        text = _files[file]
        return _io.BytesIO(text.encode()) if "b" in mode else _io.StringIO(text)
    return _real_open(file, mode, *rest, **named)


_builtins.open = _io.open = _open
