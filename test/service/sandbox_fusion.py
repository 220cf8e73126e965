"""Runs veRL's own sandbox_fusion client against a service.

    python sandbox_fusion.py URL < cases.json

The cases are [{completion, tests, timeout?}]. Prints one JSON list of {score, results, statuses};
`burst` in the place of a case asks for so many samples at once, each with its own thread.
"""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from verl.utils.reward_score.sandbox_fusion import compute_score
from verl.utils.reward_score.sandbox_fusion import utils

URL = f"{sys.argv[1]}/run_code"
most = now = 0
lock = threading.Lock()
real_post = utils.requests.post


def counted_post(*args, **kwargs):
    """requests.post, counting how many are open at once."""
    global most, now
    with lock:
        now += 1
        most = max(most, now)
    try:
        return real_post(*args, **kwargs)
    finally:
        with lock:
            now -= 1


utils.requests.post = counted_post


def judge(case):
    score, metadata = compute_score(
        URL, None, 1024, case["completion"], json.dumps(case["tests"]), continuous=True, timeout=case.get("timeout", 10)
    )
    return {"score": score, "statuses": [one.get("status") for one in metadata]}


request = json.load(sys.stdin)
answers = [judge(case) for case in request["cases"]]
most = 0
with ThreadPoolExecutor(max_workers=64) as pool:
    burst = list(pool.map(judge, request["burst"]))
print(json.dumps({"answers": answers, "burst": burst, "most": most}))
