"""Makes the checkpoint of the merge bench: 378M parameters, FSDP2 on 4 gloo ranks, float32.

    python merge-checkpoint.py OUT TOKENIZER_DIR
"""

import json
import os
import shutil
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM, Qwen2Config

WORLD_SIZE = 4
CONFIG = Qwen2Config(
    vocab_size=48000,
    hidden_size=1024,
    intermediate_size=4096,
    num_hidden_layers=22,
    num_attention_heads=16,
    num_key_value_heads=2,
    tie_word_embeddings=True,
)


def worker(rank: int, out: str, port: int) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD_SIZE)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(CONFIG, dtype=torch.float32)
    mesh = init_device_mesh("cpu", (WORLD_SIZE,), mesh_dim_names=("fsdp",))
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model.to_empty(device="cpu")
    torch.manual_seed(rank)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.to_local().normal_(0, 0.02)
    name = f"model_world_size_{WORLD_SIZE}_rank_{rank}.pt"
    torch.save(model.state_dict(), f"{out}/{name}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    out, tokenizer = sys.argv[1:]
    os.makedirs(f"{out}/huggingface", exist_ok=True)
    mp.spawn(worker, (out, 20000 + os.getpid() % 20000), nprocs=WORLD_SIZE)
    CONFIG.architectures = ["Qwen2ForCausalLM"]
    CONFIG.save_pretrained(f"{out}/huggingface")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(f"{tokenizer}/{name}", f"{out}/huggingface/{name}")
    with open(f"{out}/fsdp_config.json", "w") as file:
        json.dump({"FSDP_version": 2, "world_size": WORLD_SIZE}, file)
