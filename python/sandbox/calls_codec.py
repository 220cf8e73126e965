"""Values to and from the wire form that calls.py describes.

Import before untrusted code runs: the module keeps its own references of the built-ins it uses.
"""

import builtins
import json.encoder
from typing import Any

# The program may replace any of these in `builtins`; this module goes on with the originals.
for _name in (
    "BaseException Exception bool bytearray bytes callable complex compile dict exec float "
    "frozenset getattr hasattr hash id int isinstance issubclass iter len list next object range "
    "repr set setattr sorted str super tuple type vars zip"
).split():
    globals()[_name] = getattr(builtins, _name)
_quote = json.encoder.encode_basestring_ascii
_join = "".join
_TYPES = {name: value for name, value in vars(builtins).items() if type(value) is type}

MAX_DEPTH = 200
MAX_NODES = 5_000_000


class Proxy:
    """Base of the stand-ins for objects of the other side; they travel as their number."""

    _id: str


class Unserialisable(Exception):
    """A value that cannot travel: too deep, too large, or of a kind that has no data."""


class Codec:
    """Values to and from their wire form, with a table of the objects that stay here."""

    def __init__(self, make_proxy: Any) -> None:
        self._exported: list[Any] = []
        self._proxies: dict[str, Any] = {}
        self._make_proxy = make_proxy

    def encode(self, value: Any) -> str:
        """JSON text of a value."""
        out: list[str] = []
        self._encode(value, out, 0)
        return _join(out)

    def _encode(self, value: Any, out: list[str], depth: int) -> None:
        if depth > MAX_DEPTH:
            raise Unserialisable(f"value nested deeper than {MAX_DEPTH}")
        if len(out) > 2 * MAX_NODES:
            raise Unserialisable(f"value of more than {MAX_NODES} parts")
        kind = type(value)
        if value is None:
            out.append("null")
        elif kind is bool:
            out.append("true" if value else "false")
        elif issubclass(kind, int):
            out.append(f'"i{int.__repr__(value)}"')
        elif issubclass(kind, float):
            out.append(f'"f{float.__repr__(value)}"')
        elif issubclass(kind, str):
            # The quoted text starts with its quotation mark; the tag goes behind it.
            out.append('"s' + _quote(value)[1:])
        elif issubclass(kind, (list, tuple, set, frozenset)):
            self._encode_items(value, kind, out, depth)
        elif issubclass(kind, dict):
            out.append('["d"')
            for key, item in dict.items(value):
                out.append(",[")
                self._encode(key, out, depth + 1)
                out.append(",")
                self._encode(item, out, depth + 1)
                out.append("]")
            out.append("]")
        else:
            self._encode_rare(value, kind, out, depth)

    def _encode_items(self, value: Any, kind: type, out: list[str], depth: int) -> None:
        for tag, base in (("l", list), ("t", tuple), ("S", set), ("F", frozenset)):
            if issubclass(kind, base):
                out.append(f'["{tag}"')
                for item in base.__iter__(value):
                    out.append(",")
                    self._encode(item, out, depth + 1)
                out.append("]")
                return

    def _encode_rare(self, value: Any, kind: type, out: list[str], depth: int) -> None:
        if issubclass(kind, Proxy):
            out.append(f'["y",{_quote(object.__getattribute__(value, "_id"))}]')
            return
        if kind is bytes or kind is bytearray:
            out.append(f'["b","{kind.hex(value)}"]')
            return
        if kind is complex:
            out.append(f'["c","{value.real!r}","{value.imag!r}"]')
            return
        if kind is range:
            out.append(f'["r","{value.start}","{value.stop}","{value.step}"]')
            return
        tagged = _library_value(value, kind)
        if tagged is not None:
            out.append(dump(tagged))
            return
        plain = _plain_copy(value, kind)
        if plain is not None:
            self._encode_tagged_copy(plain, out, depth)
            return
        if kind is type and _TYPES.get(value.__name__) is value:
            out.append(f'["N",{_quote(value.__name__)}]')
            return
        self._exported.append(value)
        shape = _shape(value, kind)
        name = _quote(str(type.__getattribute__(kind, "__name__")))
        out.append(f'["o","{len(self._exported) - 1}","{shape}",{name}]')

    def _encode_tagged_copy(self, plain: tuple, out: list[str], depth: int) -> None:
        tag, copy = plain
        if tag is None:
            self._encode(copy, out, depth)
            return
        out.append(f'["{tag}"')
        for item in copy:
            out.append(",")
            self._encode(item, out, depth + 1)
        out.append("]")

    def decode(self, node: Any) -> Any:
        """The value of a parsed JSON node."""
        if node is None or node is True or node is False:
            return node
        if type(node) is str:
            tag, text = node[0], node[1:]
            return text if tag == "s" else int(text) if tag == "i" else float(text)
        tag, parts = node[0], node[1:]
        if tag == "l":
            return [self.decode(part) for part in parts]
        if tag == "t":
            return tuple([self.decode(part) for part in parts])
        if tag == "d":
            return {self.decode(key): self.decode(value) for key, value in parts}
        if tag == "S":
            return {self.decode(part) for part in parts}
        if tag == "F":
            return frozenset([self.decode(part) for part in parts])
        if tag == "o":
            return self._proxy(*parts)
        if tag == "y":
            return self.own(parts[0])
        return _decode_rare(tag, parts, self)

    def own(self, number: str) -> Any:
        """The object that was sent out under this number."""
        return self._exported[int(number)]

    def _proxy(self, number: str, kind: str, name: str) -> Any:
        if number not in self._proxies:
            self._proxies[number] = self._make_proxy(number, kind, name)
        return self._proxies[number]


def dump(node: Any) -> str:
    """JSON text of nested lists of strings."""
    if type(node) is str:
        return _quote(node)
    return "[" + ",".join([dump(part) for part in node]) + "]"


def _shape(value: Any, kind: type) -> str:
    if issubclass(kind, type):
        return "class"
    if hasattr(kind, "__next__"):
        return "iterator"
    return "callable" if callable(value) else "object"


def _library_value(value: Any, kind: type) -> list | None:
    module = type.__getattribute__(kind, "__module__")
    name = type.__getattribute__(kind, "__name__")
    if module == "decimal" and name == "Decimal":
        return ["D", str(value)]
    if module == "fractions" and name == "Fraction":
        return ["R", str(value.numerator), str(value.denominator)]
    if module == "datetime" and name in ("date", "time", "datetime"):
        return ["T", name, value.isoformat()]
    if module == "datetime" and name == "timedelta":
        return ["T", name, str(value.days), str(value.seconds), str(value.microseconds)]
    return None


def _plain_copy(value: Any, kind: type) -> tuple | None:
    module = type.__getattribute__(kind, "__module__")
    if module == "collections" and type.__getattribute__(kind, "__name__") == "deque":
        return ("q", list(value))
    if module == "numpy":
        # Scalars have both; `item` of a larger array fails, `tolist` fits all.
        return (None, value.tolist())
    return None


def _decode_rare(tag: str, parts: list, codec: Codec) -> Any:
    if tag == "q":
        from collections import deque

        return deque(codec.decode(part) for part in parts)
    if tag == "N":
        return _TYPES[parts[0]]
    if tag == "b":
        return bytes.fromhex(parts[0])
    if tag == "c":
        return complex(float(parts[0]), float(parts[1]))
    if tag == "r":
        return range(*[int(part) for part in parts])
    if tag == "D":
        from decimal import Decimal

        return Decimal(parts[0])
    if tag == "R":
        from fractions import Fraction

        return Fraction(int(parts[0]), int(parts[1]))
    if tag == "T":
        import datetime

        cls = getattr(datetime, parts[0])
        if parts[0] == "timedelta":
            return cls(*[int(part) for part in parts[1:]])
        return cls.fromisoformat(parts[1])
    raise ValueError(f"unknown tag {tag!r}")


