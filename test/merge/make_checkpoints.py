"""Makes sharded checkpoints as veRL saves them, on CPU, with whatever torch is installed.

    python make_checkpoints.py OUT STRATEGY MODEL WORLD_SIZE [lora]

STRATEGY is fsdp1, fsdp2, hsdp1 or hsdp2; MODEL is qwen2 (tied) or llama (untied). Beside the
shards it writes expected.safetensors (torch's own full state dict; fused by PEFT with lora) and
logits.json (of the source model on fixed ids), which a merge must reproduce.
"""

import json
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from safetensors.torch import save_file
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FullyShardedDataParallel,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictType,
    fully_shard,
)
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config

SIZES = dict(
    vocab_size=131,
    hidden_size=24,
    intermediate_size=44,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=128,
)
CPU = torch.device("cpu")
IDS = torch.arange(1, 40).reshape(3, 13) % SIZES["vocab_size"]


def build(kind: str, lora: bool):
    torch.manual_seed(7)
    config = (
        Qwen2Config(**SIZES, tie_word_embeddings=True)
        if kind == "qwen2"
        else LlamaConfig(**SIZES, tie_word_embeddings=False)
    )
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    if lora:
        from peft import LoraConfig, TaskType, get_peft_model

        adapter = LoraConfig(
            task_type=TaskType.CAUSAL_LM,
            r=4,
            lora_alpha=12,
            target_modules="all-linear",
            init_lora_weights=False,
        )
        model = get_peft_model(model, adapter)
    return model, config


def wrap(model, strategy: str, world_size: int):
    if strategy.startswith("hsdp"):
        mesh = init_device_mesh("cpu", (2, world_size // 2), mesh_dim_names=("ddp", "fsdp"))
    else:
        mesh = init_device_mesh("cpu", (world_size,), mesh_dim_names=("fsdp",))
    if strategy in ("fsdp2", "hsdp2"):
        layers = [m for m in model.modules() if type(m).__name__.endswith("DecoderLayer")]
        for layer in layers:
            fully_shard(layer, mesh=mesh)
        return fully_shard(model, mesh=mesh)
    kind = ShardingStrategy.HYBRID_SHARD if strategy == "hsdp1" else ShardingStrategy.FULL_SHARD
    return FullyShardedDataParallel(
        model, device_mesh=mesh, sharding_strategy=kind, use_orig_params=True, device_id=CPU
    )


def state_dicts(model, optimizer):
    if not isinstance(model, FullyShardedDataParallel):
        return model.state_dict(), optimizer.state_dict()
    with FullyShardedDataParallel.state_dict_type(
        model,
        StateDictType.SHARDED_STATE_DICT,
        ShardedStateDictConfig(offload_to_cpu=True),
        ShardedOptimStateDictConfig(offload_to_cpu=True),
    ):
        return model.state_dict(), optimizer.state_dict()


def gather(model, sharded):
    """torch's full state dict; where it cannot be gathered on gloo, tensor by tensor."""
    try:
        full = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
        if full:
            return {name: tensor.clone() for name, tensor in full.items()}, "full_state_dict"
    except Exception:
        if not isinstance(model, FullyShardedDataParallel):
            raise
    full = {}
    for name, tensor in sharded.items():
        full[name] = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor.clone()
    return full, "full_tensor"


def worker(rank: int, out: str, strategy: str, kind: str, world_size: int, lora: bool, port: int):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    model, config = build(kind, lora)
    model = wrap(model, strategy, world_size)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-2)
    scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer)
    model(input_ids=IDS, labels=IDS).loss.backward()
    optimizer.step()
    scheduler.step()
    weights, moments = state_dicts(model, optimizer)
    name = f"world_size_{world_size}_rank_{rank}.pt"
    torch.save(weights, f"{out}/model_{name}")
    torch.save(moments, f"{out}/optim_{name}")
    rng = {"cpu": torch.get_rng_state()}
    torch.save(
        {"lr_scheduler": scheduler.state_dict(), "rng": rng}, f"{out}/extra_state_{name}"
    )
    full, how = gather(model, weights)
    if rank == 0:
        finish(out, full, how, strategy, kind, config, world_size, lora)
    dist.barrier()
    dist.destroy_process_group()


def finish(out, full, how, strategy, kind, config, world_size, lora):
    version = 2 if strategy.endswith("2") else 1
    with open(f"{out}/fsdp_config.json", "w") as file:
        json.dump({"FSDP_version": version, "world_size": world_size}, file)
    config.save_pretrained(f"{out}/huggingface")
    if lora:
        with open(f"{out}/lora_train_meta.json", "w") as file:
            json.dump({"r": 4, "lora_alpha": 12, "task_type": "CAUSAL_LM"}, file)
    model, _ = build(kind, lora)
    model.load_state_dict(full)
    if lora:
        model = model.merge_and_unload()
    model.eval()
    expected = {k: v.contiguous().clone() for k, v in model.state_dict().items()}
    save_file(expected, f"{out}/expected.safetensors")
    with torch.no_grad():
        logits = model(input_ids=IDS).logits
    with open(f"{out}/logits.json", "w") as file:
        json.dump({"ids": IDS.tolist(), "logits": logits.flatten().tolist(), "how": how}, file)


if __name__ == "__main__":
    out, strategy, kind, world_size = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    os.makedirs(out, exist_ok=True)
    with_lora = sys.argv[5:] == ["lora"]
    port = 20000 + os.getpid() % 20000
    mp.spawn(worker, (out, strategy, kind, world_size, with_lora, port), nprocs=world_size)
