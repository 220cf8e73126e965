"""Runs veRL's own dataset, reward loop and metrics logger on our files, on CPU.

    python real_parts.py REQUEST.json

The request holds `words` (our overrides), `tokenizer`, `completions` ([{index, text}]: a row of the
training file and a completion) and `metrics`. Prints one JSON object.
"""

import asyncio
import importlib.util
import json
import os
import sys

import numpy as np
import torch
from hydra import compose, initialize_config_dir
from transformers import AutoTokenizer
from verl import DataProto
from verl.trainer.ppo.reward import load_reward_manager
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
from verl.utils.tracking import Tracking

with open(sys.argv[1]) as file:
    request = json.load(file)
folder = importlib.util.find_spec("verl").submodule_search_locations[0]
with initialize_config_dir(config_dir=os.path.join(folder, "trainer", "config"), version_base=None):
    config = compose(config_name="ppo_trainer", overrides=request["words"])

tokenizer = AutoTokenizer.from_pretrained(request["tokenizer"])
dataset = RLHFDataset(config.data.train_files, tokenizer, config.data)
rows = [dataset[index] for index in range(len(dataset))]
batch = collate_fn(rows[:4])


def score(manager, row, text):
    response = torch.tensor(tokenizer.encode(text))
    data = DataProto.from_dict(
        tensors={
            "responses": response[None],
            "attention_mask": torch.ones(1, len(response), dtype=torch.long),
        },
        non_tensors={
            key: np.array([row[key]], dtype=object)
            for key in ("data_source", "reward_model", "extra_info")
        },
    )
    return manager.run_single(data)


async def score_all():
    manager = load_reward_manager(config, tokenizer)
    name = type(manager).__name__
    wanted = [(rows[one["index"]], one["text"]) for one in request["completions"]]
    return name, await asyncio.gather(*(score(manager, row, text) for row, text in wanted))


manager, scores = asyncio.run(score_all())
tracking = Tracking(
    project_name=config.trainer.project_name,
    experiment_name=config.trainer.experiment_name,
    default_backend=list(config.trainer.logger),
)
for step, metrics in enumerate(request["metrics"], start=1):
    values = {k: float("nan") if v is None else np.float32(v) for k, v in metrics.items()}
    tracking.log(data=values, step=step)
tracking.finish() if hasattr(tracking, "finish") else None
print(
    json.dumps(
        {
            "rows": len(dataset),
            "prompts": [list(row["raw_prompt"]) for row in rows],
            "texts": [
                tokenizer.apply_chat_template(list(row["raw_prompt"]), add_generation_prompt=True, tokenize=False)
                for row in rows
            ],
            "collated": sorted(batch),
            "manager": manager,
            "scores": scores,
        },
        default=float,
    )
)
