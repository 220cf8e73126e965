"""Asks python/verl_reward.py for the scores of a whole batch at once, as veRL's reward loop does.

    python ask_reward_file.py REWARD_FILE < request.json

The request holds `kwargs` (reward_kwargs) and `rows` ([{data_source, solution_str, ground_truth}]).
Prints one line when the first score is there, then one JSON list; a sample without a score is the
text of its error.
"""

import asyncio
import importlib.util
import json
import sys

spec = importlib.util.spec_from_file_location("custom_module", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
request = json.load(sys.stdin)
has_begun = False


async def score(row):
    global has_begun
    try:
        answer = await module.compute_score(**row, extra_info={"index": 0}, **request["kwargs"])
    except Exception as error:  # the test looks at every outcome
        answer = f"{type(error).__name__}: {error}"
    if not has_begun:
        has_begun = True
        print("begun", flush=True)
    return answer


async def main():
    return await asyncio.gather(*(score(row) for row in request["rows"]))


print(json.dumps(asyncio.run(main())))
