"""Makes test/golden/engine: tiny random models by transformers, with what they compute.

Run with an environment that has torch, transformers, peft and safetensors:
    python test/golden/engine/make.py test/golden/engine
"""

import json
import sys
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

VOCAB = 64
TOKENS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
SHAPE = {"vocab_size": VOCAB, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}


def qwen2() -> Qwen2ForCausalLM:
    """Grouped queries, QKV bias, an output head of its own."""
    model = Qwen2ForCausalLM(Qwen2Config(
        **SHAPE, **TOKENS, num_attention_heads=4, num_key_value_heads=2, rope_theta=10000.0,
        max_position_embeddings=128, tie_word_embeddings=False, initializer_range=0.3))
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter, std=0.3)
    return model


def llama() -> LlamaForCausalLM:
    """Tied embeddings, a head size of its own, frequencies scaled as in Llama 3."""
    rope = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
    return LlamaForCausalLM(LlamaConfig(
        **{**SHAPE, "hidden_size": 18}, **TOKENS, num_attention_heads=3, num_key_value_heads=3,
        head_dim=8,
        max_position_embeddings=256, tie_word_embeddings=True, initializer_range=0.3,
        rope_parameters=rope))


def write(folder: Path, model: torch.nn.Module) -> None:
    """Saves the model, one forward and backward pass, and greedy continuations."""
    model.float().save_pretrained(folder)
    ids = torch.randint(3, VOCAB, (3, 17))
    logits = model(ids).logits
    logprobs = torch.log_softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    # The first 5 tokens of each row are the prompt.
    loss = -logprobs[:, 4:].mean()
    loss.backward()
    tensors = {"ids": ids, "logits": logits.detach(), "loss": loss.detach()}
    for name, parameter in model.named_parameters():
        tensors[f"gradient.{name}"] = parameter.grad
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()},
              folder / "golden.safetensors")
    prompts = [torch.randint(3, VOCAB, (1, n)) for n in (1, 2, 5, 9, 12, 17)]
    greedy = [model.generate(p, max_new_tokens=24, do_sample=False, eos_token_id=None)[0, p.shape[1]:]
              for p in prompts]
    (folder / "greedy.json").write_text(json.dumps({
        "prompts": [p[0].tolist() for p in prompts], "greedy": [g.tolist() for g in greedy]}) + "\n")


def write_adapter(folder: Path, model: torch.nn.Module) -> None:
    """Saves a random adapter, and what the adapted model computes."""
    torch.manual_seed(1)
    config = LoraConfig(r=3, lora_alpha=6, target_modules=["q_proj", "v_proj", "down_proj"],
                        task_type="CAUSAL_LM")
    adapted = get_peft_model(model, config)
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.3)
    adapted.save_pretrained(folder)
    ids = torch.randint(3, VOCAB, (2, 13))
    logits = adapted(ids).logits
    logprobs = torch.log_softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    loss = -logprobs[:, 4:].mean()
    loss.backward()
    tensors = {"ids": ids, "logits": logits.detach(), "loss": loss.detach()}
    for name, parameter in adapted.named_parameters():
        if parameter.grad is not None:
            tensors["gradient." + name.replace(".default", "")] = parameter.grad
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()},
              folder / "golden.safetensors")
    (folder / "README.md").unlink(missing_ok=True)


def main() -> None:
    """Writes both models below the folder named on the command line."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    models = {"qwen2": qwen2(), "llama": llama()}
    for name, model in models.items():
        write(Path(sys.argv[1]) / name, model)
    write_adapter(Path(sys.argv[1]) / "qwen2-lora", models["qwen2"])


main()
