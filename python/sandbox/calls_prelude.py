"""Names that programs and tests may use without importing them."""

from __future__ import annotations

import types
from typing import Any

# Names that competition sites define before a program runs, with where they come from.
PRELUDE: dict[str, str] = {}
for _module, _names in {
    "typing": "Any Callable DefaultDict Deque Dict FrozenSet Generator Iterable Iterator List "
    "NamedTuple Optional Sequence Set Tuple Type TypeVar Union",
    "collections": "ChainMap Counter OrderedDict defaultdict deque namedtuple",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "itertools": "accumulate chain combinations combinations_with_replacement count cycle "
    "groupby islice permutations product repeat starmap takewhile zip_longest pairwise",
    "functools": "cache cmp_to_key lru_cache partial reduce",
    "math": "ceil comb factorial floor gcd inf isqrt lcm log log2 perm pi sqrt",
    "operator": "itemgetter mul xor",
    "copy": "deepcopy",
    "fractions": "Fraction",
    "decimal": "Decimal",
    "dataclasses": "dataclass",
    "enum": "Enum",
    "string": "ascii_letters ascii_lowercase ascii_uppercase digits",
}.items():
    for _name in _names.split():
        PRELUDE[_name] = f"{_module}:{_name}"
for _name in (
    "bisect collections copy datetime decimal fractions functools heapq io itertools json math "
    "operator random re statistics string sys time typing"
).split():
    PRELUDE.setdefault(_name, f"{_name}:")
# Modules that tests take from the library itself, whatever the program says they are.
LIBRARIES = {path.partition(":")[0] for path in PRELUDE.values()} | {"cmath", "numpy"}
# Names by which tests compare: whoever defines them decides the test.
COMPARING = {
    "isclose": "math:isclose",
    "np": "numpy:",
    "pytest": "pytest:",
    "approx": "pytest:approx",
}


def names_in(code: types.CodeType) -> set[str]:
    """Every name that a code object and those in it look up."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_in(constant)
    return names


def prelude_of(code: types.CodeType) -> dict[str, Any]:
    """The prelude's names that the program uses; the others cost no import."""
    return {name: import_path(PRELUDE[name]) for name in names_in(code) if name in PRELUDE}


def library_path(name: str, kind: str, origin: str) -> str | None:
    """Where the library itself has what a name of the program's stands for in the tests; None for
    what only the program has. `kind` and `origin` are the program's own word for it."""
    module, _, attribute = origin.partition(":")
    # Parts written in C name their module with a line before it.
    module = module.lstrip("_")
    if kind == "import" and module in LIBRARIES and attribute == name:
        return f"{module}:{name}"
    if name in COMPARING:
        return COMPARING[name]
    if name in LIBRARIES:
        return f"{name}:"
    path = PRELUDE.get(name, "")
    return path if kind == "import" and path.partition(":")[0] == module else None


def import_path(path: str) -> Any:
    """The object of a path `module:attribute`, or the module of `module:`."""
    module_name, _, attribute = path.partition(":")
    module = __import__(module_name, fromlist=["*"])
    return getattr(module, attribute) if attribute else module
