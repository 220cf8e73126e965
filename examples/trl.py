"""The service as the reward of TRL's GRPOTrainer.

    rlvr serve &
    python examples/trl.py MODEL data/train1000.jsonl
"""

import json
import os
import sys
import urllib.request

SERVICE = os.environ.get("RLVR_SERVICE", "http://127.0.0.1:8710")


def verified(completions, problem, **_):
    texts = [c if isinstance(c, str) else c[-1]["content"] for c in completions]
    items = [{"problem": json.loads(p), "completion": t} for p, t in zip(problem, texts)]
    request = urllib.request.Request(f"{SERVICE}/verify", json.dumps({"items": items}).encode())
    with urllib.request.urlopen(request) as answer:
        # None where the row itself is at fault; TRL leaves it out.
        return [result["reward"] for result in json.load(answer)["results"]]


def train(model, path, **settings):
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    with open(path) as file:
        lines = file.read().splitlines()
    rows = [{"prompt": json.loads(line)["prompt"], "problem": line} for line in lines]
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=verified,
        args=GRPOConfig(**settings),
        train_dataset=Dataset.from_list(rows),
    )
    trainer.train()
    return trainer


if __name__ == "__main__":
    train(*sys.argv[1:], output_dir="trained")
