"""One full PPO update of a tiny Qwen2 policy and its critic, in PyTorch with veRL's own functions.

Run with the Python of the environment `verl09`; writes ppo.json (inputs) and ppo.safetensors (the
parameters before and after) beside itself. src/train/ppo-update.test.ts makes the same update with
ours and compares parameter by parameter.
"""

import sys

# This folder holds a statistics.py, which must not stand before Python's own.
sys.path.pop(0)

import copy
import json
from pathlib import Path
from types import SimpleNamespace

import torch
from safetensors.torch import save_file
from transformers import Qwen2Config, Qwen2ForCausalLM
from verl.trainer.ppo import core_algos as core
from verl.workers.config import FSDPActorConfig

HERE = Path(__file__).parent
SETTINGS = {
    "temperature": 0.7, "gamma": 1.0, "lam": 0.95, "kl_coef": 0.05, "clip_low": 0.2,
    "clip_high": 0.28, "clip_c": 3.0, "cliprange_value": 0.2, "entropy_coeff": 0.01,
    "kl_loss_coef": 0.02, "mini_batch": 4, "epochs": 2, "actor_lr": 1e-3, "critic_lr": 2e-3,
    "betas": [0.9, 0.99], "weight_decay": 0.01, "grad_clip": 1.0,
}


def tiny_config():
    return Qwen2Config(
        vocab_size=40, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
        rope_theta=10000.0, tie_word_embeddings=True, rms_norm_eps=1e-6,
    )


def random_model(seed):
    torch.manual_seed(seed)
    model = Qwen2ForCausalLM(tiny_config())
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.15)
        else:
            parameter.data += 0.05 * torch.randn_like(parameter)
    return model.float().eval()


class Critic(torch.nn.Module):
    """The policy's body with a value head."""

    def __init__(self, policy):
        super().__init__()
        self.model = copy.deepcopy(policy.model)
        self.value_head = torch.nn.Linear(policy.config.hidden_size, 1, bias=False)
        torch.nn.init.normal_(self.value_head.weight, std=0.1)


def pad(sequences):
    """Right padding; where the response tokens lie, [B, T] each."""
    longest = max(len(s["prompt"]) + len(s["response"]) for s in sequences)
    width = max(len(s["response"]) for s in sequences)
    ids = torch.zeros(len(sequences), longest, dtype=torch.long)
    attention = torch.zeros_like(ids)
    rows = torch.zeros(len(sequences), width, dtype=torch.long)
    mask = torch.zeros(len(sequences), width, dtype=torch.long)
    for b, s in enumerate(sequences):
        tokens = s["prompt"] + s["response"]
        ids[b, : len(tokens)] = torch.tensor(tokens)
        attention[b, : len(tokens)] = 1
        n = len(s["response"])
        rows[b, :n] = torch.arange(n) + len(s["prompt"]) - 1
        mask[b, :n] = 1
    return ids, attention, rows, mask


def policy_scores(model, batch):
    ids, attention, rows, _ = batch
    logits = model(input_ids=ids, attention_mask=attention).logits / SETTINGS["temperature"]
    picked = torch.gather(logits, 1, rows[:, :, None].expand(-1, -1, logits.size(-1)))
    logprobs = picked.log_softmax(-1)
    targets = torch.gather(ids, 1, (rows + 1).clamp(max=ids.size(1) - 1))
    entropy = -(logprobs.exp() * logprobs).sum(-1)
    return torch.gather(logprobs, 2, targets[:, :, None])[:, :, 0], entropy


def critic_values(critic, batch):
    ids, attention, rows, _ = batch
    hidden = critic.model(input_ids=ids, attention_mask=attention).last_hidden_state
    return torch.gather(critic.value_head(hidden)[:, :, 0], 1, rows)


def select(batch, index):
    return tuple(part[index] for part in batch)


def main():
    torch.set_num_threads(1)
    policy, reference = random_model(1), random_model(2)
    # The reference lies near the policy, as it does in training.
    for ours, theirs in zip(reference.parameters(), policy.parameters()):
        ours.data = theirs.data + 0.1 * ours.data
    torch.manual_seed(3)
    critic = Critic(policy).eval()
    generator = torch.Generator().manual_seed(4)
    lengths = torch.randint(2, 9, (8, 2), generator=generator).tolist()
    ids = lambda n: torch.randint(1, 40, (n,), generator=generator).tolist()
    sequences = [{"prompt": ids(p), "response": ids(r)} for p, r in lengths]
    scores = torch.rand(8, generator=generator)
    state = lambda module, name: {
        f"{name}.{key}": value.detach().clone().contiguous()
        for key, value in module.state_dict().items() if key != "lm_head.weight"
    }
    tensors = {**state(policy, "policy.before"), **state(reference, "reference"),
               **state(critic, "critic.before")}
    metrics = update(policy, reference, critic, sequences, scores)
    tensors |= {**state(policy, "policy.after"), **state(critic, "critic.after")}
    save_file(tensors, HERE / "ppo.safetensors")
    description = {
        "settings": SETTINGS, "config": policy.config.to_diff_dict(), "sequences": sequences,
        "scores": scores.tolist(), "metrics": metrics,
    }
    (HERE / "ppo.json").write_text(json.dumps(description, indent=1) + "\n")
    print(metrics)


def update(policy, reference, critic, sequences, scores):
    s = SimpleNamespace(**SETTINGS)
    batch = pad(sequences)
    mask = batch[3]
    with torch.no_grad():
        old, _ = policy_scores(policy, batch)
        ref, _ = policy_scores(reference, batch)
        values = critic_values(critic, batch)
        rewards = torch.zeros_like(old)
        rewards[torch.arange(8), mask.sum(1) - 1] = scores
        rewards = rewards - s.kl_coef * core.kl_penalty(old, ref, "kl") * mask
        advantages, returns = core.compute_gae_advantage_return(
            rewards, values, mask, gamma=s.gamma, lam=s.lam
        )
    options = dict(betas=tuple(s.betas), weight_decay=s.weight_decay, eps=1e-8)
    actor_optimizer = torch.optim.AdamW(policy.parameters(), lr=s.actor_lr, **options)
    critic_optimizer = torch.optim.AdamW(critic.parameters(), lr=s.critic_lr, **options)
    config = FSDPActorConfig(
        strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1, clip_ratio=0.2,
        clip_ratio_low=s.clip_low, clip_ratio_high=s.clip_high, clip_ratio_c=s.clip_c,
    )
    metrics = {"pg_loss": [], "vf_loss": [], "actor_norm": [], "critic_norm": []}
    for _ in range(s.epochs):
        for start in range(0, len(sequences), s.mini_batch):
            index = slice(start, start + s.mini_batch)
            part, part_mask = select(batch, index), mask[index]
            vf_loss, _ = core.compute_value_loss(
                critic_values(critic, part), returns[index], values[index], part_mask,
                s.cliprange_value,
            )
            step(critic, critic_optimizer, vf_loss, metrics["critic_norm"])
            metrics["vf_loss"].append(vf_loss.item())
    for _ in range(s.epochs):
        for start in range(0, len(sequences), s.mini_batch):
            index = slice(start, start + s.mini_batch)
            part, part_mask = select(batch, index), mask[index]
            logprobs, entropy = policy_scores(policy, part)
            pg_loss, _ = core.compute_policy_loss_vanilla(
                old[index], logprobs, advantages[index], part_mask, "token-mean", config
            )
            kl = core.kl_penalty(logprobs, ref[index], "low_var_kl")
            loss = (
                pg_loss
                - s.entropy_coeff * core.agg_loss(entropy, part_mask, "token-mean")
                + s.kl_loss_coef * core.agg_loss(kl, part_mask, "token-mean")
            )
            step(policy, actor_optimizer, loss, metrics["actor_norm"])
            metrics["pg_loss"].append(pg_loss.item())
    return metrics


def step(model, optimizer, loss, norms):
    optimizer.zero_grad()
    loss.backward()
    norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), SETTINGS["grad_clip"]).item())
    optimizer.step()


if __name__ == "__main__":
    main()
