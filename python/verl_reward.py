"""veRL's reward file: one HTTP call to the verify service, and no logic of its own.

    reward.custom_reward_function.path=.../python/verl_reward.py
    reward.custom_reward_function.name=compute_score

Settings come as reward_kwargs, else from the environment:

    urls             RLVR_VERIFIER_URLS     comma-separated: http://host:port or unix:/path
    token            RLVR_VERIFIER_TOKEN    bearer token
    timeout_s        RLVR_VERIFIER_TIMEOUT  seconds for one sample, retries included (600)
    on_infra_error   RLVR_ON_INFRA_ERROR    drop | zero | abort (drop)
    start            RLVR_START_SERVICE     command that starts a service on this node when none answers

When no service can judge a sample it has no score. `drop` raises, which makes veRL 0.9 and later
leave the sample out; earlier versions cannot leave one out, so there the run stops. `zero` pays 0 and
says infra_error=1. `abort` ends the worker. Every such sample is a line in the file named by
RLVR_INFRA_LOG. What a service refuses for good (a wrong token, a reward of yours that throws) is an
error with the service's words, whatever the choice. So is a ground truth that JSON cannot say: arrays,
scalars of numpy and the like, and bytes are sent as what they hold, anything else has no score.
Standard library only; works with Python 3.8 and later.
"""

from __future__ import annotations

import asyncio
import fcntl
import functools
import http.client
import json
import math
import os
import random
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

KEYS = (
    "score", "pass_rate", "format", "passed", "total", "compile_error", "runtime_error",
    "wrong_answer", "time_limit", "bad_problem", "infra_error",
)  # fmt: skip
RETRY_STATUS = {429, 502, 503, 504}
DOWN_S = 5.0  # how long a service that failed is asked last

_threads = ThreadPoolExecutor(max_workers=256, thread_name_prefix="rlvr-reward")
_lock = threading.Lock()
_in_flight: dict[str, int] = {}
_down_until: dict[str, float] = {}
_is_log_missed = False


class VerifierUnavailable(RuntimeError):
    """No service could judge the sample, so it has no score."""


class VerifierRefused(RuntimeError):
    """A service says that asking again is of no use; the message is the service's."""


async def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Any = None, **kwargs: Any
) -> dict[str, float]:
    """Score one sample; veRL's reward loop awaits it."""
    call = functools.partial(
        compute_score_sync, data_source, solution_str, ground_truth, extra_info, **kwargs
    )
    return await asyncio.get_running_loop().run_in_executor(_threads, call)


def compute_score_sync(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Any = None, **kwargs: Any
) -> dict[str, float]:
    """Score one sample; for veRL versions whose reward managers call plain functions."""
    body = {
        "data_source": _plain(data_source, "data_source"),
        "solution_str": _plain(solution_str, "solution_str"),
        "ground_truth": _plain(ground_truth, "ground_truth"),
        # Nothing is judged by it, so that what JSON cannot say becomes text or null.
        "extra_info": _plain(extra_info, None) if isinstance(extra_info, dict) else None,
    }
    try:
        answer = _ask(json.dumps(body, allow_nan=False).encode(), kwargs)
    except VerifierUnavailable as error:
        return _without_score(error, kwargs, body["extra_info"])
    return {key: float(answer[key]) for key in answer if isinstance(answer[key], (int, float))}


def _plain(value: Any, where: str | None) -> Any:
    """Turn what veRL hands over into what JSON can say; `where` names it, None says that it may lose."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return _lossy(value, None, where)
    if isinstance(value, dict):
        return {_key(key, where): _plain(item, where and f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, where and f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, (bytes, bytearray)):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return _lossy(value, str(value), where)
    # Arrays, then scalars, of numpy, torch and whoever else gives them these names.
    for name in ("tolist", "item"):
        if callable(getattr(value, name, None)):
            inner = getattr(value, name)()
            if type(inner) is not type(value):
                return _plain(inner, where)
    return _lossy(value, str(value), where)


def _key(key: Any, where: str | None) -> Any:
    plain = _plain(key, where)
    return str(plain) if isinstance(plain, (list, dict)) else plain


def _lossy(value: Any, instead: Any, where: str | None) -> Any:
    if where is None:
        return instead
    raise TypeError(
        f"verl_reward: {where}: expected what JSON can say, found {type(value).__name__} {str(value)[:100]}; "
        "write it as text, numbers and lists, as rlvr prepare does"
    )


def _setting(kwargs: dict[str, Any], key: str, variable: str, default: str = "") -> str:
    value = kwargs.get(key)
    return str(value) if value is not None else os.environ.get(variable, default)


def _ask(body: bytes, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Try services until one answers or the time is up."""
    urls = _setting(kwargs, "urls", "RLVR_VERIFIER_URLS").strip("[] ").replace("'", "")
    services = [url.strip() for url in urls.split(",") if url.strip()]
    token = _setting(kwargs, "token", "RLVR_VERIFIER_TOKEN")
    deadline = time.monotonic() + float(_setting(kwargs, "timeout_s", "RLVR_VERIFIER_TIMEOUT", "600"))
    problem = "no attempt was made"
    attempt = 0
    while time.monotonic() < deadline:
        url = _least_busy(services or [_start_local(kwargs)])
        try:
            status, text = _post(url, body, token, deadline - time.monotonic())
            if status == 200:
                return json.loads(text)
            problem = f"{url} answered {status}: {text[:300]}"
            if status not in RETRY_STATUS:
                raise VerifierRefused(f"{url} answered {status}: {text}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            problem = f"{url}: {type(error).__name__}: {error}"
            with _lock:
                _down_until[url] = time.monotonic() + DOWN_S
        finally:
            with _lock:
                _in_flight[url] -= 1
        attempt += 1
        # Full jitter, so that a batch does not come back all at once.
        longest = min(5.0, 0.2 * 2 ** min(attempt, 5))
        time.sleep(min(random.uniform(0, longest), max(0.0, deadline - time.monotonic())))  # noqa: S311
    raise VerifierUnavailable(problem)


def _least_busy(services: list[str]) -> str:
    """Choose a service that answers, with the fewest of our requests on it; count one more."""
    now = time.monotonic()
    with _lock:
        url = min(services, key=lambda s: (_down_until.get(s, 0.0) > now, _in_flight.get(s, 0)))
        _in_flight[url] = _in_flight.get(url, 0) + 1
    return url


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _connect(url: str, timeout: float) -> tuple[http.client.HTTPConnection, str]:
    if url.startswith("unix:"):
        return _UnixConnection(url[len("unix:") :], timeout), ""
    scheme, _, rest = url.partition("://")
    host, _, base = rest.partition("/")
    kind = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
    return kind(host, timeout=timeout), "/" + base.rstrip("/") if base.rstrip("/") else ""


def _post(url: str, body: bytes, token: str, timeout: float) -> tuple[int, str]:
    connection, base = _connect(url, max(0.1, timeout))
    headers = {"content-type": "application/json", "x-client": f"{socket.gethostname()}:{os.getpid()}"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    try:
        connection.request("POST", f"{base}/reward", body, headers)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "replace")
    finally:
        connection.close()


def _without_score(
    error: VerifierUnavailable, kwargs: dict[str, Any], extra_info: dict[str, Any] | None
) -> dict[str, float]:
    """Do what the caller chose for a sample that could not be judged."""
    choice = _setting(kwargs, "on_infra_error", "RLVR_ON_INFRA_ERROR", "drop")
    log = os.environ.get("RLVR_INFRA_LOG")
    if log:
        line = {
            "time": time.time(),
            "error": str(error),
            "split": (extra_info or {}).get("split"),
            "on_infra_error": choice,
        }
        _append(log, json.dumps(line))
    if choice == "zero":
        return {**dict.fromkeys(KEYS, 0.0), "infra_error": 1.0}
    if choice == "abort":
        print(f"verl_reward: no verifier: {error}", file=sys.stderr, flush=True)
        os._exit(70)
    raise error


def _append(path: str, line: str) -> None:
    """Note a sample without a score; what becomes of the sample does not hang on it."""
    global _is_log_missed
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError as error:
        if not _is_log_missed:
            missed = "cannot be written, so that samples without a score are not counted"
            print(f"verl_reward: RLVR_INFRA_LOG {missed}: {error}", file=sys.stderr, flush=True)
        _is_log_missed = True


def _start_local(kwargs: dict[str, Any]) -> str:
    """Start one service on this node, whichever worker comes first, and wait until it answers."""
    command = _setting(kwargs, "start", "RLVR_START_SERVICE")
    if not command:
        raise VerifierUnavailable("no service: set RLVR_VERIFIER_URLS or RLVR_START_SERVICE")
    folder = os.path.join(tempfile.gettempdir(), f"rlvr-{os.getuid()}")
    path = os.path.join(folder, "verify.sock")
    with _lock:
        # It answered this process before and has not failed since.
        if f"unix:{path}" in _in_flight and _down_until.get(f"unix:{path}", 0.0) <= time.monotonic():
            return f"unix:{path}"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_uid != os.getuid():
        raise VerifierUnavailable(f"{folder} belongs to another user")
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _answers(path):
            with open(os.path.join(folder, "service.log"), "ab") as log:
                subprocess.Popen(  # noqa: S603 -- the command is the operator's own
                    [*shlex.split(command), "--socket", path],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
            end = time.monotonic() + 60
            while not _answers(path):
                if time.monotonic() > end:
                    raise VerifierUnavailable(f"the service did not start; see {log.name}")
                time.sleep(0.1)
    return f"unix:{path}"


def _answers(path: str) -> bool:
    connection = _UnixConnection(path, 2.0)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
