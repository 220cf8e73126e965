"""Says what the launcher must know of a Python with veRL: one JSON object on standard output.

Run by the Python that will train, as `PYTHON verl_probe.py [FILE ...]`; the files are those that
workers must be able to read. Imports nothing heavy: versions come from package metadata, veRL's
folder from the import system. Standard library only; works with Python 3.8 and later.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import sys

PACKAGES = (
    "verl", "vllm", "sglang", "ray", "torch", "tensordict", "transformers", "numpy", "hydra-core",
    "TransferQueue", "orjson", "flash-attn", "peft",
)  # fmt: skip
MODULES = {
    "verl": "verl",
    "ray": "ray",
    "torch": "torch",
    "hydra-core": "hydra",
    "tensordict": "tensordict",
    "transformers": "transformers",
    "TransferQueue": "transfer_queue",
    "orjson": "orjson",
    "vllm": "vllm",
    "sglang": "sglang",
}


def version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def folder_of(module: str) -> str | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return next(iter(spec.submodule_search_locations))


def main() -> None:
    cpus = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    report = {
        "python": platform.python_version(),
        "executable": sys.executable,
        "versions": {name: version_of(name) for name in PACKAGES},
        "importable": {
            name: importlib.util.find_spec(module) is not None for name, module in MODULES.items()
        },
        "verl_folder": folder_of("verl"),
        "cpus": cpus,
        "readable": {path: os.access(path, os.R_OK) for path in sys.argv[1:]},
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
