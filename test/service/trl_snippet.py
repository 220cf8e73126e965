"""Trains one step with TRL by examples/trl.py, on CPU.

    python trl_snippet.py SNIPPET MODEL PROBLEMS

Prints the rewards that the snippet's function gives for known completions, and the logged steps.
"""

import json
import sys
import tempfile

import torch  # noqa: F401 -- must load before the snippet's libraries pick a device

snippet, model, problems = sys.argv[1:]
names = {"__name__": "snippet"}
with open(snippet) as file:
    exec(compile(file.read(), snippet, "exec"), names)  # noqa: S102 -- our own documentation

line = open(problems).read().splitlines()[0]
texts = ["```python\nprint(sum(map(int, input().split())))\n```", "```python\nprint(3)\n```", "none"]
chats = [[{"role": "assistant", "content": text}] for text in texts]
known = names["verified"](completions=chats, problem=[line] * 3, prompts=None)
trainer = names["train"](
    model,
    problems,
    output_dir=tempfile.mkdtemp(),
    max_steps=1,
    per_device_train_batch_size=4,
    num_generations=4,
    max_completion_length=32,
    use_cpu=True,
    bf16=False,
    report_to="none",
    logging_steps=1,
    save_strategy="no",
)
print(json.dumps({"known": known, "log": trainer.state.log_history}, default=float))
