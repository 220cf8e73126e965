"""Golden vectors: what veRL's and TRL's own functions answer on random and on edge inputs.

Run with the Python of the environment `verl09` (test/venvs.sh makes it); writes verl.json and
trl.json beside itself. `vectors.test.ts` in src/train holds our functions against them.
"""

import sys

# This folder holds a statistics.py, which must not stand before Python's own.
sys.path.pop(0)

import json
import math
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

HERE = Path(__file__).parent
ROWS, LENGTH = 8, 6


def numbers(tensor):
    """A tensor as lists; what is not finite as text."""
    def plain(value):
        if isinstance(value, list):
            return [plain(item) for item in value]
        if not isinstance(value, float):
            return value
        return float(f"{value:.8g}") if math.isfinite(value) else str(value)

    return plain(tensor.detach().to(torch.float32).tolist())


def make_batch(seed, kind):
    """One batch of inputs; `kind` names what is special about it."""
    generator = torch.Generator().manual_seed(seed)
    rand = lambda *shape: torch.rand(*shape, generator=generator)
    lengths = torch.randint(1, LENGTH + 1, (ROWS,), generator=generator)
    if kind == "empty":
        lengths[1] = 0
        lengths[5] = 0
    mask = (torch.arange(LENGTH)[None, :] < lengths[:, None]).long()
    if kind == "holes":
        mask = mask * (rand(ROWS, LENGTH) > 0.3).long()
        mask[:, 0] = 1
    groups = [0, 1, 0, 2, 1, 2, 0, 1]
    if kind == "single":
        groups = [0, 1, 2, 3, 4, 4, 5, 6]
    scores = (rand(ROWS) * 5).round() / 5
    if kind == "equal":
        scores = torch.ones(ROWS)
    rewards = torch.zeros(ROWS, LENGTH)
    for row in range(ROWS):
        valid = mask[row].nonzero()
        if len(valid) > 0:
            rewards[row, valid[-1]] = scores[row]
    if kind == "dense":
        rewards = rewards + 0.1 * (rand(ROWS, LENGTH) - 0.5) * mask
    logprobs = -3 * rand(ROWS, LENGTH)
    scale = 60 if kind == "extreme" else 0.6
    old = logprobs + scale * (rand(ROWS, LENGTH) - 0.5)
    reference = logprobs + scale * (rand(ROWS, LENGTH) - 0.5)
    return {
        "kind": kind,
        "mask": mask,
        "groups": groups,
        "rewards": rewards,
        "values": rand(ROWS, LENGTH) - 0.5,
        "baselines": rand(ROWS),
        "logprobs": logprobs,
        "old": old,
        "reference": reference,
        "advantages": 4 * (rand(ROWS, LENGTH) - 0.5),
        "vpreds": 2 * (rand(ROWS, LENGTH) - 0.5),
        "returns": rand(ROWS, LENGTH),
    }


KINDS = ["random", "random", "dense", "empty", "holes", "single", "equal", "extreme"]


def verl_vectors():
    from verl.trainer.ppo import core_algos as core
    from verl.utils import torch_functional as functional
    from verl.workers.config import FSDPActorConfig

    def advantages(batch):
        rewards, mask = batch["rewards"], batch["mask"]
        index = np.array(batch["groups"])
        config = SimpleNamespace(gamma=0.9)
        common = {"token_level_rewards": rewards, "response_mask": mask}
        grouped = {**common, "index": index}
        pairs = {
            "gae_1_1": core.compute_gae_advantage_return(
                rewards, batch["values"], mask, gamma=1.0, lam=1.0
            ),
            "gae_09_08": core.compute_gae_advantage_return(
                rewards, batch["values"], mask, gamma=0.9, lam=0.8
            ),
            "grpo": core.compute_grpo_outcome_advantage(**grouped),
            "grpo_no_std": core.compute_grpo_outcome_advantage(
                **grouped, norm_adv_by_std_in_grpo=False
            ),
            "rloo": core.compute_rloo_outcome_advantage(**grouped),
            "reinforce_plus_plus": core.compute_reinforce_plus_plus_outcome_advantage(
                **common, config=config
            ),
            "reinforce_plus_plus_baseline":
                core.compute_reinforce_plus_plus_baseline_outcome_advantage(**grouped),
            "remax": core.compute_remax_outcome_advantage(
                **common, reward_baselines=batch["baselines"]
            ),
        }
        return {name: [numbers(a), numbers(r)] for name, (a, r) in pairs.items()}

    def policy(batch, mode, aggregation, low, high, c):
        config = FSDPActorConfig(
            strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1,
            clip_ratio=0.2, clip_ratio_low=low, clip_ratio_high=high, clip_ratio_c=c,
        )
        logprobs = batch["logprobs"].clone().requires_grad_()
        loss, metrics = core.get_policy_loss_fn(mode)(
            old_log_prob=batch["old"], log_prob=logprobs, advantages=batch["advantages"],
            response_mask=batch["mask"], loss_agg_mode=aggregation, config=config,
        )
        loss.backward()
        return {
            "mode": mode, "aggregation": aggregation, "low": low, "high": high, "c": c,
            "loss": numbers(loss), "gradient": numbers(logprobs.grad),
            "clipfrac": metrics["actor/pg_clipfrac"],
            "clipfrac_lower": metrics["actor/pg_clipfrac_lower"],
            "ppo_kl": metrics["actor/ppo_kl"],
        }

    def kl(batch, kind):
        logprobs = batch["logprobs"].clone().requires_grad_()
        value = core.kl_penalty(logprobs, batch["reference"], kind)
        value.sum().backward()
        return {"value": numbers(value), "gradient": numbers(logprobs.grad)}

    def value(batch, aggregation):
        vpreds = batch["vpreds"].clone().requires_grad_()
        loss, clipfrac = core.compute_value_loss(
            vpreds=vpreds, returns=batch["returns"], values=batch["values"],
            response_mask=batch["mask"], cliprange_value=0.5, loss_agg_mode=aggregation,
        )
        loss.backward()
        return {
            "aggregation": aggregation, "loss": numbers(loss),
            "gradient": numbers(vpreds.grad), "clipfrac": numbers(clipfrac),
        }

    modes = ["token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean",
             "seq-mean-token-sum-norm"]
    cases = []
    for seed, kind in enumerate(KINDS):
        batch = make_batch(seed, kind)
        policies = [policy(batch, "vanilla", mode, 0.2, 0.2, 3.0) for mode in modes]
        policies += [
            policy(batch, "vanilla", "token-mean", 0.2, 0.28, 1.1),
            policy(batch, "gspo", "seq-mean-token-mean", 0.05, 0.1, 3.0),
            policy(batch, "cispo", "token-mean", 0.2, 0.28, 3.0),
        ]
        kinds = ["kl", "abs", "mse", "low_var_kl", "k1+", "k3+"]
        cases.append({
            **{k: numbers(v) if torch.is_tensor(v) else v for k, v in batch.items()},
            "estimators": advantages(batch),
            "policy": policies,
            "kl": {k: kl(batch, k) for k in kinds},
            "value_loss": [value(batch, mode) for mode in modes],
            "whitened": numbers(functional.masked_whiten(batch["advantages"], batch["mask"])),
        })
    return {"version": version_of("verl"), "length": LENGTH, "cases": cases,
            "kl_control": kl_control(core), "schedules": schedules(functional)}


def kl_control(core):
    controller = core.AdaptiveKLController(init_kl_coef=0.02, target_kl=0.1, horizon=1000)
    steps = []
    for current, n in [(0.3, 96), (0.1, 96), (0.01, 48), (0.11, 256), (5.0, 1000)]:
        controller.update(current, n)
        steps.append({"kl": current, "sequences": n, "after": float(controller.value)})
    return {"first": 0.02, "target": 0.1, "horizon": 1000, "steps": steps}


def schedules(functional):
    def rates(make):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2.0)
        scheduler = make(optimizer)
        seen = []
        for _ in range(12):
            seen.append(scheduler.get_last_lr()[0])
            optimizer.step()
            scheduler.step()
        return seen

    return {
        "constant_3": rates(lambda o: functional.get_constant_schedule_with_warmup(o, 3)),
        "cosine_3_of_10_min_01": rates(
            lambda o: functional.get_cosine_schedule_with_warmup(o, 3, 10, min_lr_ratio=0.1)
        ),
    }


def trl_vectors():
    from trl.trainer.grpo_trainer import GRPOTrainer
    from trl.trainer.utils import nanstd

    def loss_of(batch, loss_type, level, low, high, beta):
        logprobs = batch["logprobs"].clone().requires_grad_()
        identity = lambda tensor, *_, **__: tensor
        trainer = SimpleNamespace(
            _get_per_token_logps_and_entropies=lambda *a, **k: (
                logprobs, torch.zeros_like(logprobs), None),
            aux_loss_enabled=False, top_entropy_quantile=1.0, off_policy_mask_threshold=None,
            importance_sampling_level=level, beta=beta, loss_type=loss_type, epsilon_low=low,
            epsilon_high=high, use_vllm=False, vllm_importance_sampling_correction=False,
            max_completion_length=LENGTH, current_gradient_accumulation_steps=1,
            args=SimpleNamespace(delta=None, use_bias_correction_kl=False,
                                 steps_per_generation=1),
            accelerator=SimpleNamespace(num_processes=1, gather=identity, reduce=identity,
                                        gather_for_metrics=identity),
            model=SimpleNamespace(training=True), _entropy_bonus_enabled=False,
            entropy_coef=0.0,
            _metrics=defaultdict(lambda: defaultdict(list)),
        )
        mask = batch["mask"]
        inputs = {
            "prompt_ids": torch.zeros(ROWS, 1).long(), "prompt_mask": torch.ones(ROWS, 1).long(),
            "completion_ids": torch.zeros(ROWS, LENGTH).long(), "completion_mask": mask,
            "advantages": batch["advantages"][:, 0], "old_per_token_logps": batch["old"],
            "ref_per_token_logps": batch["reference"], "num_items_in_batch": mask.sum(),
        }
        loss = GRPOTrainer._compute_loss(trainer, None, inputs)
        loss.backward()
        return {"loss_type": loss_type, "level": level, "low": low, "high": high, "beta": beta,
                "loss": numbers(loss), "gradient": numbers(logprobs.grad)}

    cases = []
    for seed, kind in enumerate(["random", "random", "empty", "holes"]):
        batch = make_batch(100 + seed, kind)
        names = ["kind", "mask", "logprobs", "old", "reference", "advantages"]
        cases.append({
            **{name: numbers(batch[name]) if torch.is_tensor(batch[name]) else batch[name]
               for name in names},
            "losses": [
                loss_of(batch, "dapo", "token", 0.2, 0.28, 0.0),
                loss_of(batch, "dapo", "token", 0.2, 0.2, 0.05),
                loss_of(batch, "bnpo", "token", 0.2, 0.2, 0.0),
                loss_of(batch, "grpo", "token", 0.2, 0.2, 0.0),
                loss_of(batch, "dr_grpo", "token", 0.2, 0.2, 0.0),
                # TRL's epsilon_high is the cap itself here; 1.28 is what veRL calls 0.28.
                loss_of(batch, "cispo", "token", 0.2, 1.28, 0.0),
                loss_of(batch, "grpo", "sequence", 0.05, 0.1, 0.0),
            ],
        })
    groups = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.2, 0.4, 0.6, 1.0], [1.0, 1.0, 1.0, 1.0]])
    deviations = nanstd(groups, dim=1)
    advantages = (groups - groups.mean(1, keepdim=True)) / (deviations[:, None] + 1e-4)
    return {"version": version_of("trl"), "length": LENGTH, "cases": cases,
            "groups": {"rewards": numbers(groups), "std": numbers(deviations),
                       "advantages": numbers(advantages)}}


def version_of(package):
    from importlib.metadata import version

    return version(package)


def main():
    torch.set_num_threads(1)
    for name, vectors in {"verl": verl_vectors, "trl": trl_vectors}.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        path = HERE / f"{name}.json"
        path.write_text(json.dumps(vectors()) + "\n")
        print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
