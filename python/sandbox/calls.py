"""Calls between trusted tests and an untrusted program, in two processes.

The *candidate* process loads the program and answers calls of what it defines; it owns no test and
no expected value. The *tests* process runs the tests; the names it takes from the program are stubs
whose calls travel to the candidate. The judge stands between the two and passes messages on, so
nothing that the program defines ever runs where the verdict is formed: a forged message can only
claim a value, just as returning that value would.

Use from another server: ``serve(role, in_fd, out_fd)`` with role ``candidate`` or ``tests`` never
returns (it ends the process by ``os._exit``). It needs nothing but the two descriptors, which may
be the same one. Import this module *before* untrusted code runs: it keeps its own references of
the built-ins it uses, so that a program that patches them breaks only itself. The caller sets
limits, standard streams (nothing of the protocol uses them), working directory and isolation.

Wire form: one JSON text a line, UTF-8, of null, true, false, strings and arrays only; there are no
JSON numbers, so no reader can round one. A value is encoded as

    null true false            None and the booleans
    "i-12"  "f0.5"  "stext"    int (decimal), float (repr), str (lone surrogates as \\udXXX)
    ["l", …] ["t", …]          list, tuple;  also ["S", …] set, ["F", …] frozenset, ["q", …] deque
    ["d", [key, value], …]     dict, in order
    ["b", hex] ["c", re, im]   bytes, complex;  also ["D", text] Decimal, ["R", n, d] Fraction,
                               ["r", start, stop, step] range, ["T", type, text…] dates and times
    ["N", name]                a built-in type such as int
    ["o", id, kind, type]      an object that stays with the sender; kind is callable, class,
                               iterator or object
    ["y", id]                  the receiver's own object, sent back

Subclasses are encoded as their base type by the base's own methods, so that an overridden
``__eq__``, ``__repr__`` or ``__iter__`` has no say.

Messages to either side: ["load", source, prelude] comes first and is answered by ["ready", names]
or ["failed", kind, text] (kind: compile_error, runtime_error or bad_problem). Then
    ["call", seq, target, args, kwargs, want_changes]   want_changes: send back changed arguments
    ["get", seq, target]
are answered by ["return", seq, value, changes] or ["raise", seq, type, message, traceback]. A
target is ["name", n] (a global of the program, or a method of its class Solution), ["own", id], or
["attr", target, name]. While it works on a call, the candidate may itself send a call whose target
is an object the tests passed to it.
Only tests: ["prepare", prefix, entry, names] then ["run", index, code], answered by
["result", index, status, type, message, weak, last] with status pass, assertion, remote or error.
"""

from __future__ import annotations

import builtins
import json.encoder
import sys
import types
from typing import Any, NoReturn

from calls_codec import dump
from calls_peer import Channel, Peer, Stub, traceback_of
from calls_prelude import LIBRARIES, import_path, library_path, prelude_of

# The program may replace any of these in `builtins`; this module goes on with the originals.
for _name in (
    "BaseException Exception bool bytearray bytes callable complex compile dict exec float "
    "frozenset getattr hasattr hash id int isinstance issubclass iter len list next object range "
    "repr set setattr sorted str super tuple type vars zip"
).split():
    globals()[_name] = getattr(builtins, _name)
_quote = json.encoder.encode_basestring_ascii
_modules = sys.modules
TEXT_LIMIT = 4096
# LiveCodeBench's limit of recursion, and what a level may take of the stack where C is in between.
RECURSION_LIMIT = 50_000
LEVEL_BYTES = 5 << 10


class Candidate(Peer):
    """Holds the program and answers calls of what it defines."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self._module = types.ModuleType("candidate")
        # Competition sites ask for a method of Solution, whatever else the program holds.
        self._is_method_first = False

    def load(self, source: str, prelude: bool) -> str:
        """Runs the program's top level; answers `ready` or `failed`, as JSON text."""
        namespace = self._module.__dict__
        _modules["candidate"] = self._module
        try:
            code = compile(source, "program.py", "exec", dont_inherit=True)
        except BaseException as error:
            return f'["failed","compile_error",{_quote(traceback_of(error))}]'
        if prelude:
            # Where built-ins are found: the program may use them, and defines none of them.
            vars(builtins).update(prelude_of(code))
            sys.setrecursionlimit(_recursion_limit())
            self._is_method_first = True
        known = set(namespace)
        try:
            exec(code, namespace)
        except BaseException as error:
            return f'["failed","runtime_error",{_quote(traceback_of(error))}]'
        rows = [
            dump(_describe(name, value))
            for name, value in list(dict.items(namespace))
            if type(name) is str and name not in known and not name.startswith("__")
        ]
        return f'["ready",[{",".join(rows)}]]'

    def resolve(self, target: list) -> Any:
        if target[0] == "own":
            return self.codec.own(target[1])
        if target[0] == "attr":
            found = self.resolve(target[1])
            return type(found).__next__.__get__(found) if target[2] == "__next__" else getattr(
                found, target[2]
            )
        namespace, name = self._module.__dict__, target[1]
        solution = namespace.get("Solution")
        has_method = solution is not None and hasattr(solution, name)
        if name in namespace and not (has_method and self._is_method_first):
            return namespace[name]
        if has_method:
            return getattr(solution(), name)
        raise NameError(f"missing function: the program defines no {name}")


def _recursion_limit() -> int:
    """What other harnesses allow call problems, as far as this process's stack goes."""
    try:
        import resource

        stack = resource.getrlimit(resource.RLIMIT_STACK)[0]
    except ImportError:
        return 1000
    if stack == resource.RLIM_INFINITY:
        return RECURSION_LIMIT
    return max(1000, min(RECURSION_LIMIT, stack // LEVEL_BYTES))


def _describe(name: str, value: Any) -> list[str]:
    """Name, kind and origin of a global: what the tests may make of it."""
    try:
        if type(value) is types.ModuleType:
            return [name, "module", str(value.__name__)]
        origin = getattr(value, "__module__", None) if callable(value) else None
        if type(origin) is str and origin != "candidate":
            return [name, "import", f"{origin}:{getattr(value, '__qualname__', name)}"]
        return [name, "callable" if callable(value) else "value", ""]
    except BaseException:  # noqa: BLE001 - an attribute of the program's may do anything
        return [name, "value", ""]


class Tests(Peer):
    """Runs test code whose names of the program's are stubs."""

    def __init__(self, channel: Channel, setup: str) -> None:
        super().__init__(channel)
        self._setup = setup
        self._namespace = Names(self, {"__name__": "tests", "__builtins__": builtins})
        self._offered: dict[str, tuple[str, str]] = {}
        self._entry: str | None = None
        # The name that the problem asks for, as far as the set-up and the test tell.
        self._asked_for: str | None = None
        self._found: dict[str, Any] = {}
        self._set_up: tuple[bool, str | None] = (False, None)

    def resolve(self, target: list) -> Any:
        """Only what was passed to the program: a function to call, an iterator to advance."""
        if target[0] == "own" and callable(self.codec.own(target[1])):
            return self.codec.own(target[1])
        if target[0] == "attr" and target[1][0] == "own":
            return _open_attribute(self.codec.own(target[1][1]), target[2])
        raise PermissionError("the program may only call what the tests passed to it")

    def prepare(self, prefix: str, entry: str | None, names: list) -> str:
        """Defines the prompt's own helpers, the stubs and the set-up."""
        self._entry = self._asked_for = entry
        self._offered = {name: (kind, origin) for name, kind, origin in names}
        try:
            if prefix.strip():
                exec(_compile_prefix(prefix), self._namespace)
            setup = _compile_tests(self._setup)
        except BaseException as error:
            return f'["failed","bad_problem",{_quote(traceback_of(error))}]'
        if entry is not None:
            stub = Stub(self, ["name", entry], "", "callable", entry)
            self._namespace[entry] = self._namespace["candidate"] = stub
        try:
            exec(setup, self._namespace)
        except BaseException as error:
            # What the program answered, or a name that it lacks, is its own doing.
            is_its_own = self.has_asked or isinstance(error, NameError)
            kind = "runtime_error" if is_its_own else "bad_problem"
            return f'["failed","{kind}",{_quote(traceback_of(error))}]'
        self._set_up = (self.weak, self._asked_for)
        return '["ready",[]]'

    def run(self, index: str, source: str) -> str:
        """Runs one case; answers its `result`, as JSON text."""
        namespace = Names(self, self._namespace)
        self.weak, self._asked_for = self._set_up
        self.last, self._found = None, {}
        status, name, message = "syntax", "", ""
        try:
            code = _compile_tests(source)
            status = "pass"
            exec(code, namespace)
            self._call_check(source, namespace)
        except BaseException as error:
            name, message = type(error).__name__, str(error)[:TEXT_LIMIT]
            remote = hasattr(error, "is_remote")
            failed = isinstance(error, AssertionError)
            if status != "syntax":
                status = "remote" if remote else "assertion" if failed else "error"
        parts = [_quote(part) for part in (index, status, name, message)]
        last = _quote(_short(self.last))
        return f'["result",{",".join(parts)},{"true" if self.weak else "false"},{last}]'

    def _call_check(self, source: str, namespace: dict[str, Any]) -> None:
        """Calls a `check` that the case leaves uncalled: it would pass by testing nothing."""
        if self._entry is None or "def check" not in source:
            return
        import ast

        body = ast.parse(source).body
        called = {
            node.func.id
            for statement in body
            if not isinstance(statement, ast.FunctionDef)
            for node in ast.walk(statement)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        if "check" in defined and "check" not in called:
            namespace["check"](namespace[self._entry])

    def offer(self, name: str) -> Any:
        """What a name that the tests lack and the program defines stands for; a KeyError when the
        program does not define it either."""
        if name not in self._offered or hasattr(builtins, name):
            raise KeyError(name)
        kind, origin = self._offered[name]
        found = _imported(library_path(name, kind, origin))
        if found is not None:
            return found
        # The program has a say in what it defines beside the function asked for. Where the problem
        # names none, that is the first that the tests use.
        self._asked_for = self._asked_for or name
        self.weak = self.weak or name != self._asked_for
        if name not in self._found:
            self._found[name] = self._of_program(name, kind, origin)
        return self._found[name]

    def _of_program(self, name: str, kind: str, origin: str) -> Any:
        if kind in ("module", "import") and origin.partition(":")[0] in LIBRARIES:
            found = _imported(origin)
            if found is not None:
                return found
        if kind == "value":
            return self.request("get", ["name", name])
        return Stub(self, ["name", name], "", "callable", name)


class Names(dict):
    """The names of the tests; one that they lack is the program's, at every look-up anew, so that
    each test knows whether it used one."""

    def __init__(self, tests: Tests, names: dict[str, Any]) -> None:
        super().__init__(names)
        self._tests = tests

    def __missing__(self, name: str) -> Any:
        return self._tests.offer(name)


def _imported(path: str | None) -> Any:
    try:
        return None if path is None else import_path(path)
    except (ImportError, AttributeError):
        return None


def _open_attribute(value: Any, name: str) -> Any:
    """An attribute that cannot lead to the tests' own names (frames, globals, code)."""
    if name in ("__next__", "__iter__", "__len__", "__getitem__"):
        return getattr(value, name)
    if type(value).__module__ == "tests" and not name.startswith("_"):
        return getattr(value, name)
    raise PermissionError(f"the program may not read {name} of a test's object")


def _compile_tests(source: str) -> types.CodeType:
    return compile(source, "tests.py", "exec", dont_inherit=True)


def _compile_prefix(prefix: str) -> types.CodeType:
    try:
        return compile(prefix, "prompt.py", "exec", dont_inherit=True)
    except SyntaxError:
        return compile(prefix.rstrip() + "\n    pass\n", "prompt.py", "exec", dont_inherit=True)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= TEXT_LIMIT else text[:TEXT_LIMIT] + "…"


def serve(role: str, in_fd: int, out_fd: int) -> NoReturn:
    """Serves one session on the two descriptors, then ends the process."""
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    channel = Channel(in_fd, out_fd)
    _, source, prelude = channel.receive()
    if role == "candidate":
        candidate = Candidate(channel)
        channel.send(candidate.load(source, prelude))
        while True:
            candidate.answer(channel.receive())
    tests = Tests(channel, source)
    channel.send('["ready",[]]')
    while True:
        verb, *rest = channel.receive()
        if verb in ("prepare", "run"):
            channel.send(tests.prepare(*rest) if verb == "prepare" else tests.run(*rest))


def _hide_memory() -> None:
    """Keeps other processes of the same user from reading the tests out of this one (Linux)."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass


if __name__ == "__main__":
    if sys.argv[1] == "tests":
        _hide_memory()
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
