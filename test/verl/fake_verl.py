"""A stand-in for a Python with veRL: answers the probe and plays main_ppo in veRL's file formats.

What it does is in FAKE_VERL (JSON): `versions` it claims, `cpus`, and how the run goes: `steps`,
`crash_after`, `hang_after`, `nan_at`, `lose_node_after`, `exit`, `save_freq`, `rows` (ground truths),
`console` (metrics on the console only, as releases without a file logger), `nodes` (what Ray's nodes
tell; one that has everything unless it is said), `lost` (by step, the splits of samples that no
service could judge), `input` (the prompt of every dump, which has no ground truths then, as 0.5's),
`bare_nan` (NaN stands in the metrics file as it does in Python, as 0.6's), `late` (seconds by which the dump of a validation comes after its metrics).
`shards` is a folder that a checkpoint's `actor` is a copy of, and with `echo` the words and variables
of main_ppo are printed and that is all. Standard library only.
"""

import json
import os
import shutil
import sys
import threading
import time

SETTINGS = json.loads(os.environ.get("FAKE_VERL", "{}"))
VERSIONS = {"verl": "0.9.1", "vllm": "0.18.0", "ray": "2.60.0", "torch": "2.11.0",
            "tensordict": "0.10.0", "transformers": "5.6.1", "numpy": "2.4.0",
            "hydra-core": "1.3.3", "TransferQueue": "0.1.10", "orjson": "3.13.0"}  # fmt: skip


def probe(files):
    versions = {**VERSIONS, **SETTINGS.get("versions", {})}
    names = ("verl", "ray", "torch", "hydra-core", "tensordict", "transformers", "TransferQueue",
             "orjson", "vllm", "sglang")  # fmt: skip
    print(json.dumps({
        "python": "3.11.7",
        "executable": os.environ["FAKE_PYTHON"],
        "versions": versions,
        "importable": {name: versions.get(name) is not None for name in names},
        "verl_folder": SETTINGS.get("verl_folder"),
        "cpus": SETTINGS.get("cpus", 32),
        "readable": {path: os.access(path, os.R_OK) for path in files},
    }))  # fmt: skip


def nodes(request):
    found = {
        "python": "3.11.7",
        "verl": {**VERSIONS, **SETTINGS.get("versions", {})}["verl"],
        "reward": None,
        "files": {request["reward"]["path"]: None},
        "services": {},
        "health": {},
    }
    told = [{"address": "10.0.0.1", "found": found, "lost": None}]
    print("RLVR_NODES", json.dumps(SETTINGS.get("nodes", told)))


def say(line):
    print(f"\x1b[36m(TaskRunnerV1 pid=4711)\x1b[0m {line}", flush=True)


def append(path, record):
    with open(path, "a") as file:
        file.write(json.dumps(record) + "\n")


def dump(folder, step, rows, score):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{step}.jsonl", "w") as file:
        for index, row in enumerate(rows):
            record = {
                "input": f"system\n\nuser\n{index}",
                "output": row["output"],
                "gts": row["gts"],
                "score": score,
                "step": step,
                "uid": f"u{index // 2}_{index % 2}_0",
            }
            if "input" in SETTINGS:
                record["input"] = SETTINGS["input"]
                del record["gts"], record["uid"]
            file.write(json.dumps(record) + "\n")


def echo(words):
    names = [name for name in os.environ if name.startswith(("RLVR_", "VERL_", "HYDRA_"))]
    print(json.dumps([words, {name: os.environ[name] for name in sorted(names)}]))


def main_ppo(words):
    options = dict(word.lstrip("+").split("=", 1) for word in words)
    root = options["trainer.default_local_dir"]
    tracker = f"{root}/latest_checkpointed_iteration.txt"
    start = int(open(tracker).read()) if os.path.exists(tracker) else 0
    logger = os.environ["VERL_FILE_LOGGER_PATH"]
    has_file = "file" in options["trainer.logger"]
    if has_file:
        open(logger, "w").close()  # veRL truncates, too
    print(f"resolved reward: {options.get('reward.custom_reward_function.path')}", flush=True)
    if SETTINGS.get("start_error"):
        print(SETTINGS["start_error"], file=sys.stderr)
        sys.exit(1)
    rows = SETTINGS.get("rows", [])
    last = SETTINGS.get("steps", 4)
    if start == 0:
        log(logger, has_file, 0, {"val-core/apps/acc/mean@1": 0.1, "training/global_step": 0})
    for step in range(start + 1, last + 1):
        time.sleep(SETTINGS.get("pause", 0.05))
        score = step / 10
        metrics = {
            "critic/score/mean": score,
            "actor/ppo_kl": 0.001 * step,
            "actor/pg_loss": 0.5,
            "actor/grad_norm": float("nan") if step == SETTINGS.get("nan_at") else 1.0,
            "response_length/mean": 100.0,
            "training/global_step": step,
        }
        if step % 2 == 0:
            metrics["val-core/apps/acc/mean@1"] = 0.1 * step
            written = threading.Timer(
                SETTINGS.get("late", 0), dump, (options["trainer.validation_data_dir"], step, rows, score)
            )
            written.start()
        for split in SETTINGS.get("lost", {}).get(str(step), []):
            # As the reward file notes samples that no service could judge.
            line = {"time": time.time(), "error": "refused", "split": split, "on_infra_error": "drop"}
            append(os.environ["RLVR_INFRA_LOG"], line)
        dump(options["trainer.rollout_data_dir"], step, rows, score)
        if step % SETTINGS.get("save_freq", 2) == 0:
            if "shards" in SETTINGS:
                shutil.copytree(SETTINGS["shards"], f"{root}/global_step_{step}/actor")
            os.makedirs(f"{root}/global_step_{step}/actor", exist_ok=True)
            with open(tracker, "w") as file:
                file.write(str(step))
        log(logger, has_file, step, metrics)
        if step == SETTINGS.get("crash_after"):
            say("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
            sys.exit(1)
        if step == SETTINGS.get("lose_node_after"):
            say("ray.exceptions.NodeDiedError: the node 10.0.0.2 has been marked dead")
            sys.exit(1)
        if step == SETTINGS.get("hang_after"):
            time.sleep(600)
    sys.exit(SETTINGS.get("exit", 0))


def log(path, has_file, step, metrics):
    plain = " - ".join(f"{name}:{value}" for name, value in metrics.items())
    say(f"step:{step} - {plain}")
    if has_file:
        is_bare = SETTINGS.get("bare_nan", False)
        data = {name: None if value != value and not is_bare else value for name, value in metrics.items()}
        append(path, {"step": step, "data": data})


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1].endswith("verl_probe.py"):
        probe(sys.argv[2:])
    elif sys.argv[1:2] == ["-c"]:
        nodes(json.loads(sys.argv[3]))
    elif sys.argv[1:3] == ["-m", "verl.trainer.main_ppo"]:
        (echo if SETTINGS.get("echo") else main_ppo)(sys.argv[3:])
    else:
        sys.exit(f"unexpected words {sys.argv[1:]}")
