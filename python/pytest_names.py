"""What KodCode's tests need of pytest, for the process of the tests, which has no pytest.

`rlvr prepare` puts this text before the tests that name `pytest.raises` or `pytest.approx`. It runs
on the trusted side: the program's exceptions and values arrive there as plain ones.

Covered: `with pytest.raises(E, match=...) as found` with `found.value`, `found.type` and
`found.match(...)`; `pytest.approx` of numbers, and of lists, tuples and dicts of numbers.
Not covered: the arguments of an exception beyond its text; classes of exceptions that the program
defines, or that the standard library derives from a built-in one: they arrive without their bases.
"""

import ast as _ast
import decimal as _decimal
import numbers as _numbers
import re as _re
import typing as _typing


class _Raises:
    def __init__(self, expected: _typing.Any, *, match: "str | None" = None) -> None:
        self._expected, self._match = expected, match
        self.value: _typing.Any = None
        self.type: _typing.Any = None

    def __enter__(self) -> "_Raises":
        return self

    def __exit__(self, kind: _typing.Any, error: _typing.Any, trace: object) -> bool:
        if kind is None:
            raise AssertionError(f"expected {self._expected!r} to be raised, found no exception")
        if not issubclass(kind, self._expected) or _is_missing_name(error):
            return False
        _restore(error)
        self.type, self.value = kind, error
        return self._match is None or self.match(self._match)

    def match(self, pattern: str) -> bool:
        if _re.search(pattern, str(self.value)) is None:
            raise AssertionError(f"expected a message like {pattern!r}, found {str(self.value)!r}")
        return True


def _is_missing_name(error: BaseException) -> bool:
    # pytest could not even import a program that lacks the function: that raises nothing in a test.
    is_remote = hasattr(error, "is_remote")
    return isinstance(error, NameError) and (
        not is_remote or str(error).startswith("missing function")
    )


def _restore(error: BaseException) -> None:
    # What travels is the text of an exception: of a KeyError that is the key in its written form,
    # and a class that is not built in stands before it.
    if not hasattr(error, "is_remote"):
        return
    if type(error) is KeyError:
        try:
            error.args = (_ast.literal_eval(error.args[0]),)
        except (SyntaxError, ValueError):
            pass
    elif type(error).__name__ == "RemoteError":
        error.args = (str(error).partition(": ")[2],)


class _Approx:
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        expected: _typing.Any,
        rel: _typing.Any = None,
        abs: _typing.Any = None,
        nan_ok: bool = False,
    ) -> None:
        self._expected, self._rel, self._abs, self._nan_ok = expected, rel, abs, nan_ok

    def __eq__(self, actual: object) -> bool:
        expected = self._expected
        if isinstance(expected, dict):
            return (
                isinstance(actual, dict)
                and actual.keys() == expected.keys()
                and all(self._near(actual[key], expected[key]) for key in expected)
            )
        if isinstance(expected, (list, tuple)):
            return (
                isinstance(actual, (list, tuple))
                and len(actual) == len(expected)
                and all(map(self._near, actual, expected))
            )
        return self._near(actual, expected)

    def __repr__(self) -> str:
        return f"approx({self._expected!r})"

    def _near(self, actual: _typing.Any, expected: _typing.Any) -> bool:
        is_truth = isinstance(expected, bool)
        if is_truth and not isinstance(actual, bool):
            return False
        if actual == expected:
            return True
        kinds = (_numbers.Complex, _decimal.Decimal)
        if is_truth or not (isinstance(actual, kinds) and isinstance(expected, kinds)):
            return False
        size = abs(expected)
        if size != size:
            return self._nan_ok and actual != actual
        if size == float("inf"):
            return False
        return abs(expected - actual) <= self._tolerance(size)

    def _tolerance(self, size: _typing.Any) -> _typing.Any:
        # 1e-6 of the expected value or 1e-12, whichever is more; a tolerance that is asked for as
        # an absolute one alone stands alone. Source: pytest's reference, pytest.approx.
        kind = _decimal.Decimal if isinstance(size, _decimal.Decimal) else float
        absolute = kind("1e-12") if self._abs is None else kind(self._abs)
        if self._rel is None and self._abs is not None:
            return absolute
        return max(kind("1e-6" if self._rel is None else self._rel) * size, absolute)


class pytest:
    raises, approx = _Raises, _Approx
