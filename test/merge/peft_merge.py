"""Merges a LoRA checkpoint by PEFT itself: what the fixture must become.

    python peft_merge.py CHECKPOINT ALPHA OUT

Puts rank files together by torch, loads them into a PEFT model and calls merge_and_unload.
"""

import glob
import sys

import torch
from peft import LoraConfig, TaskType, get_peft_model
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

checkpoint, alpha, out = sys.argv[1], float(sys.argv[2]), sys.argv[3]
paths = sorted(glob.glob(f"{checkpoint}/model_world_size_*_rank_*.pt"))
ranks = [torch.load(path, weights_only=False) for path in paths]
whole = {}
for name, first in ranks[0].items():
    if hasattr(first, "_local_tensor"):
        whole[name] = torch.cat([rank[name]._local_tensor for rank in ranks])[: first.shape[0]]
    else:
        whole[name] = first
config = AutoConfig.from_pretrained(f"{checkpoint}/ref")
model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
rank = next(v.shape[0] for k, v in whole.items() if "lora_A" in k)
adapter = LoraConfig(
    task_type=TaskType.CAUSAL_LM, r=rank, lora_alpha=alpha, target_modules="all-linear"
)
model = get_peft_model(model, adapter)
model.load_state_dict(whole)
merged = model.merge_and_unload().state_dict()
merged.pop("lm_head.weight", None)
save_file({k: v.contiguous().clone() for k, v in merged.items()}, out)
