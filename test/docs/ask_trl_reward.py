"""Asks the reward function of examples/trl.py, which without TRL needs nothing but Python.

    python ask_trl_reward.py EXAMPLE < request.json

The request holds `problem`, one line of a problem file, and `completions`.
"""

import json
import runpy
import sys

request = json.load(sys.stdin)
verified = runpy.run_path(sys.argv[1])["verified"]
texts = request["completions"]
print(json.dumps(verified(texts, [request["problem"]] * len(texts))))
