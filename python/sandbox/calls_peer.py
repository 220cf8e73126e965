"""One end of a conversation between two Python processes: asks, and answers while it waits.

calls.py describes the messages. Import before untrusted code runs.
"""

import builtins
import json.decoder
import json.encoder
import os
from typing import Any, NoReturn

from calls_codec import Codec, Proxy, dump

# The program may replace any of these in `builtins`; this module goes on with the originals.
for _name in (
    "BaseException Exception bool bytearray bytes callable complex compile dict exec float "
    "frozenset getattr hasattr hash id int isinstance issubclass iter len list next object range "
    "repr set setattr sorted str super tuple type vars zip"
).split():
    globals()[_name] = getattr(builtins, _name)
_quote = json.encoder.encode_basestring_ascii
_scan = json.decoder.JSONDecoder().scan_once
_read, _write, _exit = os.read, os.write, os._exit
_join = "".join

TEXT_LIMIT = 4096
MACHINERY = ("__main__", "calls", "calls_codec", "calls_peer", "calls_prelude")
NOT_SENT = (AttributeError, KeyError, IndexError, TypeError, ValueError, RecursionError)


class RemoteError(Exception):
    """An exception of the program whose class is not a built-in one."""


class Channel:
    """Lines over two descriptors."""

    def __init__(self, in_fd: int, out_fd: int) -> None:
        self._in, self._out, self._pending = in_fd, out_fd, b""

    def receive(self) -> list:
        """Reads one message; ends the process when the other side has gone."""
        chunks = [self._pending]
        while b"\n" not in chunks[-1]:
            chunk = _read(self._in, 65536)
            if not chunk:
                _exit(0)
            chunks.append(chunk)
        line, _, self._pending = b"".join(chunks).partition(b"\n")
        return _scan(line.decode("utf-8"), 0)[0]

    def send(self, text: str) -> None:
        """Writes one message, given as JSON text."""
        data = memoryview(text.encode("ascii") + b"\n")
        while data:
            data = data[_write(self._out, data) :]


class Stub(Proxy):
    """An object of the other side: calls, attributes and iteration travel, comparison does not.

    Comparing a proxy with plain data is never asked of the other side: the answer would be the
    program's, and the question would tell it the expected value. Two proxies are compared there,
    and the peer notes that the verdict rests on the program's word (`weak`).
    """

    def __init__(self, peer: "Peer", target: list, number: str, kind: str, name: str) -> None:
        for key, value in (("_peer", peer), ("_target", target), ("_id", number)):
            object.__setattr__(self, key, value)
        object.__setattr__(self, "_kind", kind)
        object.__setattr__(self, "_name", name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _ask(self, None, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        peer = object.__getattribute__(self, "_peer")
        target = ["attr", object.__getattribute__(self, "_target"), name]
        return peer.request("get", target)

    def __setattr__(self, name: str, value: Any) -> None:
        _ask(self, "__setattr__", (name, value), {})

    def __iter__(self) -> Any:
        if object.__getattribute__(self, "_kind") == "iterator":
            return self
        return _ask(self, "__iter__", (), {})

    def __next__(self) -> Any:
        return _ask(self, "__next__", (), {})

    def __len__(self) -> int:
        try:
            return _ask(self, "__len__", (), {})
        except AttributeError as error:
            # What len() of an object without a length raises, and what list() expects to ignore.
            raise _marked(TypeError(str(error))) from None

    def __getitem__(self, key: Any) -> Any:
        return _ask(self, "__getitem__", (key,), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        _ask(self, "__setitem__", (key, value), {})

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{object.__getattribute__(self, '_name')} of the program>"

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __instancecheck__(self, value: Any) -> bool:
        if type(value) is not Stub:
            return False
        return bool(_weakly(self, "__instancecheck__", value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("an object of the program cannot be copied")


def _ask(proxy: Stub, method: str | None, args: tuple, kwargs: dict) -> Any:
    peer = object.__getattribute__(proxy, "_peer")
    target = object.__getattribute__(proxy, "_target")
    return peer.call(target if method is None else ["attr", target, method], args, kwargs)


def _weakly(proxy: Stub, method: str, other: Any) -> Any:
    object.__getattribute__(proxy, "_peer").weak = True
    return _ask(proxy, method, (other,), {})


def _between_proxies(method: str) -> Any:
    def compare(self: Stub, other: Any) -> Any:
        return _weakly(self, method, other) if type(other) is Stub else NotImplemented

    return compare


for _name in "eq ne lt le gt ge add sub mul truediv floordiv mod and or xor".split():
    setattr(Stub, f"__{_name}__", _between_proxies(f"__{_name}__"))


class Peer:
    """One end of the conversation: asks the other side, and answers it while it waits."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.codec = Codec(lambda number, kind, name: self._proxy(number, kind, name))
        self.weak = False
        self.last: Any = None
        self._seq = 0

    def _proxy(self, number: str, kind: str, name: str) -> Stub:
        return Stub(self, ["own", number], number, kind, name)

    @property
    def has_asked(self) -> bool:
        """Whether anything was asked of the other side."""
        return self._seq > 0

    def resolve(self, target: list) -> Any:
        """The object a target names."""
        raise NotImplementedError

    def call(self, target: list, args: tuple, kwargs: dict) -> Any:
        """Calls an object of the other side; changes it made to the arguments are made here."""
        packed = f"{self.codec.encode(list(args))},{self.codec.encode(kwargs)},true"
        value, changes = self._exchange("call", target, packed)
        if changes is not None:
            for mine, theirs in zip(args, self.codec.decode(changes)):
                _copy_into(mine, theirs)
        return self._received(value)

    def request(self, verb: str, target: list) -> Any:
        """Asks for the value of a target."""
        return self._received(self._exchange(verb, target, None)[0])

    def _received(self, node: Any) -> Any:
        try:
            self.last = self.codec.decode(node)
        except NOT_SENT as error:
            raise _marked(RemoteError(f"not a value: {error}")) from None
        return self.last

    def _exchange(self, verb: str, target: list, packed: str | None) -> tuple[Any, Any]:
        self._seq += 1
        seq = str(self._seq)
        tail = "" if packed is None else "," + packed
        self.channel.send(f'["{verb}","{seq}",{dump(target)}{tail}]')
        while True:
            message = self.channel.receive()
            if message[0] in ("call", "get"):
                self.answer(message)
            elif message[0] == "return" and message[1] == seq:
                return message[2], message[3]
            elif message[0] == "raise" and message[1] == seq:
                is_next = target[0] == "attr" and target[2] == "__next__"
                raise _remote_exception(message[2], message[3], is_next)

    def answer(self, message: list) -> None:
        """Does what a call or get asks and sends the result or the exception."""
        seq = _quote(message[1])
        try:
            found = self.resolve(message[2])
            if message[0] == "get":
                text = f'["return",{seq},{self.codec.encode(found)},null]'
            else:
                text = self._do_call(seq, found, *message[3:6])
        except BaseException as error:
            text = _raised(seq, error)
        self.channel.send(text)

    def _do_call(self, seq: str, function: Any, args: list, kwargs: Any, want: bool) -> str:
        arguments = self.codec.decode(args)
        named = self.codec.decode(kwargs)
        before = None
        if want and any(type(item) in (list, dict, set, bytearray) for item in arguments):
            before = self.codec.encode(arguments)
        value = function(*arguments, **named)
        changes = "null"
        if before is not None:
            after = self.codec.encode(arguments)
            changes = after if after != before else "null"
        return f'["return",{seq},{self.codec.encode(value)},{changes}]'


def _copy_into(mine: Any, theirs: Any) -> None:
    if type(mine) is not type(theirs):
        return
    if type(mine) is list:
        if len(mine) == len(theirs):
            for index, item in enumerate(theirs):
                if type(mine[index]) in (list, dict, set) and type(item) is type(mine[index]):
                    _copy_into(mine[index], item)
                else:
                    mine[index] = item
        else:
            mine[:] = theirs
    elif type(mine) in (dict, set):
        mine.clear()
        mine.update(theirs)
    elif type(mine) is bytearray:
        mine[:] = theirs


def _marked(error: BaseException) -> BaseException:
    error.is_remote = True  # type: ignore[attr-defined]
    return error


def _remote_exception(name: str, message: str, is_next: bool) -> BaseException:
    cls = vars(builtins).get(name)
    if not (isinstance(cls, type) and issubclass(cls, BaseException)) or cls is GeneratorExit:
        return _marked(RemoteError(f"{name}: {message}"))
    if cls is StopIteration and not is_next:
        # Inside map() or a loop this would end the test's own iteration early, and pass it.
        return _marked(RuntimeError("the program raised StopIteration"))
    try:
        return _marked(cls(message))
    except TypeError:
        return _marked(RemoteError(f"{name}: {message}"))


def _raised(seq: str, error: BaseException) -> str:
    name = type.__getattribute__(type(error), "__name__")
    message, trace = "", ""
    try:
        message = str(error)[:TEXT_LIMIT]
        trace = traceback_of(error)
    except BaseException:  # noqa: BLE001 - the program's own __str__ may do anything
        message = "an exception whose text cannot be read"
    parts = [_quote(str(part)) for part in (name, message, trace)]
    return f'["raise",{seq},{",".join(parts)}]'


def traceback_of(error: BaseException) -> str:
    """The last lines of an exception's traceback."""
    import traceback

    # The frames of this machinery say nothing about the program.
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in MACHINERY:
        trace = trace.tb_next
    text = _join(traceback.format_exception(type(error), error, trace, limit=-20))
    return text[-TEXT_LIMIT:]
