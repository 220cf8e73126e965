"""Looks, from inside a Ray worker on every node, whether what a run of veRL needs is there.

Run as `PYTHON -c THIS_TEXT REQUEST`, on this machine or as a job of a cluster: no node needs this
file. The request is JSON:

    reward      {"path": ..., "name": ...}   the reward file, imported as veRL imports it
    files       paths that workers read
    services    http://host:port or unix:/path of each verify service
    timeout_s   seconds for one node

Prints one line, `RLVR_NODES` and a JSON list with an object for each node that can hold workers.
Ray is reached as veRL reaches it: a cluster that runs already, else one of its own for a moment.
Needs Ray and the standard library; works with Python 3.8 and later.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import socket
import sys
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

SERVICE_TIMEOUT_S = 5.0  # a service answers its health route at once, also when it is busy
REFUSED = "refuses the token"


def look(request: dict[str, Any]) -> dict[str, Any]:
    """Say what this node has; None stands for nothing wrong."""
    reward = request["reward"]
    files = {path: file_fault(path) for path in [reward["path"], *request["files"]]}
    services = {url: service_fault(url) for url in request["services"]}
    return {
        "python": platform.python_version(),
        "verl": verl_version(),
        "files": files,
        "reward": None if files[reward["path"]] else reward_fault(**reward),
        "services": services,
        "health": {url: service_health(url) for url, fault in services.items() if fault is None},
    }


def verl_version() -> str | None:
    try:
        return importlib.metadata.version("verl")
    except importlib.metadata.PackageNotFoundError:
        return None


def file_fault(path: str) -> str | None:
    try:
        # One byte: a mount may list what it cannot read.
        with open(path, "rb") as file:
            file.read(1)
    except IsADirectoryError:
        return None if os.access(path, os.R_OK | os.X_OK) else "cannot be opened"
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def reward_fault(path: str, name: str) -> str | None:
    spec = importlib.util.spec_from_file_location("rlvr_reward_probe", path)
    if spec is None or spec.loader is None:
        return "is no Python file"
    module = importlib.util.module_from_spec(spec)
    # Decorators such as dataclass look their module up here.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- the file may be anybody's
        return f"{type(error).__name__}: {error}"
    return None if callable(getattr(module, name, None)) else f"has no function {name}"


def service_fault(url: str) -> str | None:
    try:
        status, _ = ask(url, "/healthz")
        if status != 200:
            return f"answers {status}"
        # The health route asks for no token; any other route does.
        return REFUSED if ask(url, "/openapi.json")[0] in (401, 403) else None
    except (OSError, HTTPException, ValueError) as error:
        return getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"


def service_health(url: str) -> Any:
    try:
        return json.loads(ask(url, "/healthz")[1])
    except (OSError, HTTPException, ValueError):
        return None


def ask(url: str, route: str) -> tuple[int, bytes]:
    # `http.client`, as in the reward file: it takes no notice of proxies.
    if url.startswith("unix:"):
        connection, base = unix_connection(url[len("unix:") :]), ""
    else:
        scheme, _, rest = url.partition("://")
        host, _, base = rest.partition("/")
        kind = HTTPSConnection if scheme == "https" else HTTPConnection
        connection = kind(host, timeout=SERVICE_TIMEOUT_S)
    token = os.environ.get("RLVR_VERIFIER_TOKEN")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    try:
        connection.request("GET", f"/{base}".rstrip("/") + route, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def unix_connection(path: str) -> HTTPConnection:
    connection = HTTPConnection("localhost", timeout=SERVICE_TIMEOUT_S)
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.settimeout(SERVICE_TIMEOUT_S)
    connection.sock.connect(path)
    return connection


def main() -> None:
    request = json.loads(sys.argv[1])
    ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    # A head that counts no processors takes no workers.
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) > 0]
    task = ray.remote(num_cpus=0, max_retries=0)(look)
    asked = {
        task.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote(request): node["NodeManagerAddress"]
        for node in nodes
    }
    ray.wait(list(asked), num_returns=len(asked), timeout=request["timeout_s"])
    print("RLVR_NODES", json.dumps([told(ref, address) for ref, address in asked.items()]), flush=True)


def told(ref: Any, address: str) -> dict[str, Any]:
    try:
        return {"address": address, "found": ray.get(ref, timeout=0), "lost": None}
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is this node's fault
        lines = str(error).strip().splitlines()
        return {"address": address, "found": None, "lost": lines[-1] if lines else type(error).__name__}


if __name__ == "__main__":
    main()
