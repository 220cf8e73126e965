"""Loads merged models with transformers and compares with what make_checkpoints.py wrote.

    python check_model.py SOURCE MERGED [SOURCE MERGED ...]

Prints one JSON line per pair: largest difference of weights and of logits, keys that loading
reported as missing or unexpected, and how torch gathered the expected weights.
"""

import json
import sys

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

for source, merged in zip(sys.argv[1::2], sys.argv[2::2]):
    expected = load_file(f"{source}/expected.safetensors")
    with open(f"{source}/logits.json") as file:
        recorded = json.load(file)
    model, info = AutoModelForCausalLM.from_pretrained(merged, output_loading_info=True)
    model.eval()
    found = model.state_dict()
    weights = max((found[k].float() - v.float()).abs().max().item() for k, v in expected.items())
    with torch.no_grad():
        logits = model(input_ids=torch.tensor(recorded["ids"])).logits.flatten()
    difference = (logits - torch.tensor(recorded["logits"])).abs().max().item()
    print(
        json.dumps(
            {
                "weights": weights,
                "logits": difference,
                "missing": sorted(info["missing_keys"]),
                "unexpected": sorted(info["unexpected_keys"]),
                "dtype": str(next(model.parameters()).dtype),
                "how": recorded["how"],
            }
        )
    )
