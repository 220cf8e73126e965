"""Scores completions with veRL's own reward loop, on rows of a parquet file of `rlvr prepare`.

    python verl_loop.py < request.json

The request holds `parquet`, `completions` (one per row), `words` (overrides of veRL's own
configuration) and `tokenizer`. Prints one JSON list of veRL's answers.
"""

import asyncio
import importlib.util
import json
import os
import sys

import numpy as np
import pyarrow.parquet
import torch
from hydra import compose, initialize_config_dir
from transformers import AutoTokenizer
from verl import DataProto
from verl.trainer.ppo.reward import load_reward_manager

request = json.load(sys.stdin)
folder = importlib.util.find_spec("verl").submodule_search_locations[0]
with initialize_config_dir(config_dir=os.path.join(folder, "trainer", "config"), version_base=None):
    config = compose(config_name="ppo_trainer", overrides=request["words"])
tokenizer = AutoTokenizer.from_pretrained(request["tokenizer"])
rows = pyarrow.parquet.read_table(request["parquet"]).to_pylist()
manager_name = ""


async def score(manager, row, text):
    response = torch.tensor(tokenizer.encode(text))
    data = DataProto.from_dict(
        tensors={"responses": response[None], "attention_mask": torch.ones(1, len(response), dtype=torch.long)},
        non_tensors={
            key: np.array([row[key]], dtype=object) for key in ("data_source", "reward_model", "extra_info")
        },
    )
    return await manager.run_single(data)


async def main():
    manager = load_reward_manager(config, tokenizer)
    scores = await asyncio.gather(*(score(manager, *pair) for pair in zip(rows, request["completions"])))
    return {"manager": type(manager).__name__, "rows": len(rows), "scores": scores}


print(json.dumps(asyncio.run(main()), default=float))
