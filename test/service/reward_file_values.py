"""Checks what python/verl_reward.py makes of the values that veRL may hand over.

    python reward_file_values.py REWARD_FILE

The request is looked at in place of being sent. Arrays and scalars are stand-ins with numpy's names.
"""

import importlib.util
import io
import json
import os
import sys
import tempfile
from contextlib import redirect_stderr

spec = importlib.util.spec_from_file_location("custom_module", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


class Array:
    def __init__(self, *items):
        self.items = items

    def tolist(self):
        return list(self.items)


class Scalar:
    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


class Other:
    def __str__(self):
        return "other"


class Endless:
    def item(self):
        return self


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def sent(ground_truth="{}", extra_info=None):
    bodies = []

    def post(url, body, token, timeout):
        bodies.append(json.loads(body, parse_constant=refuse))
        return 200, '{"score": 1}'

    module._post = post
    assert module.compute_score_sync("apps", "x", ground_truth, extra_info, urls="http://a") == {"score": 1.0}
    return bodies[0]


def refused(ground_truth):
    try:
        sent(ground_truth)
    except TypeError as error:
        return str(error)
    raise AssertionError("it was sent")


def check_ground_truth():
    outputs = Array(Scalar("3"), Array(4, Scalar(5)))
    truth = {"inputs": Array("1", b"2"), "outputs": outputs, "n": (True, None)}
    wanted = {"inputs": ["1", "2"], "outputs": ["3", [4, 5]], "n": [True, None]}
    assert sent(truth)["ground_truth"] == wanted
    assert sent({Scalar(3): 1, None: 2, False: 3})["ground_truth"] == {"3": 1, "null": 2, "false": 3}
    assert sent('{"inputs": []}')["ground_truth"] == '{"inputs": []}'
    assert "ground_truth.outputs[1]: expected what JSON can say, found Other other" in refused(
        {"outputs": [1, Other()]}
    )
    assert "ground_truth[0]: expected what JSON can say, found float nan" in refused(Array(float("nan")))
    assert "found bytes" in refused(b"\xff")
    assert "found Endless" in refused(Endless())


def check_extra_info():
    extra = {"index": Scalar(7), "difficulty": float("nan"), "most": [Scalar(float("inf"))], "image": Other()}
    wanted = {"index": 7, "difficulty": None, "most": [None], "image": "other"}
    assert sent(extra_info=extra)["extra_info"] == wanted
    assert sent(extra_info=Array())["extra_info"] is None


def check_many_attempts():
    calls = []

    def post(url, body, token, timeout):
        calls.append(url)
        return (503, "busy") if len(calls) < 1100 else (200, '{"score": 1}')

    module._post = post
    module.time.sleep = lambda seconds: None
    assert module.compute_score_sync("apps", "x", "{}", urls="http://a") == {"score": 1.0}
    assert len(calls) == 1100


def check_unwritable_log():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RLVR_INFRA_LOG"] = os.path.join(folder, "none", "log.jsonl")
        said = io.StringIO()
        with redirect_stderr(said):
            for _ in range(2):
                kwargs = {"on_infra_error": "zero", "timeout_s": 0, "urls": "http://a"}
                answer = module.compute_score_sync("apps", "x", "{}", **kwargs)
                assert answer["infra_error"] == 1.0
    assert said.getvalue().count("RLVR_INFRA_LOG cannot be written") == 1, said.getvalue()


check_ground_truth()
check_extra_info()
check_many_attempts()
check_unwritable_log()
print("ok")
