"""What transformers computes with SmolLM2-135M-Instruct, read from its GGUF file.

    python test/golden/engine/smollm2.py MODEL.gguf OUT_DIR

The expected values come from the GGUF file itself, not from our import of it, so the import is
tested too. OUT_DIR gets golden.safetensors and golden.json.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

TEXTS = [
    "def fibonacci(n):\n    \"\"\"Return the n-th Fibonacci number.\"\"\"\n",
    "The capital of France is",
    "Write a Python function that reverses a string.",
    "1 + 1 = 2, 12 * 12 = 144, 1234567890",
    "for (let i = 0; i < 10; i++) {\n\tconsole.log(i);\n}\n",
    "Ünïcödé, 日本語, emoji 🙂 and \u00a0no-break spaces",
    "   leading spaces\n\n\nand    runs   of them  ",
    "Once upon a time, in a village by the sea,",
    "SELECT name, COUNT(*) FROM users GROUP BY name;",
    "Q: What is the largest planet?\nA:",
    "It's they're we've I'm you'll he'd",
    "import numpy as np\n\nx = np.zeros((3, 4))\n",
    "List three fruits:",
    "#include <stdio.h>\nint main(void) {",
    "Dear Sir or Madam,",
    "The quick brown fox jumps over the lazy dog.",
    "def is_prime(n: int) -> bool:",
    "Explain recursion in one sentence.",
    "x = int(input())\ny = int(input())\nprint(",
    "Water boils at",
]


def main() -> None:
    """Writes logits, one gradient, greedy continuations, tokens and a rendered chat."""
    gguf, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    tokenizer = AutoTokenizer.from_pretrained(**source)
    model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    ids = [tokenizer(text, add_special_tokens=False).input_ids for text in TEXTS]
    tensors = {}
    for i in (0, 3, 5):
        with torch.no_grad():
            tensors[f"logits.{i}"] = model(torch.tensor([ids[i]])).logits[0]
    row = torch.tensor([ids[0]])
    logprobs = torch.log_softmax(model(row).logits[:, :-1], -1).gather(-1, row[:, 1:, None])
    (-logprobs.mean()).backward()
    for name, parameter in model.named_parameters():
        tensors[f"gradient.{name}"] = parameter.grad
    save_file({name: t.contiguous() for name, t in tensors.items()}, out / "golden.safetensors")
    greedy = []
    for prompt in ids:
        done = model.generate(torch.tensor([prompt]), max_new_tokens=64, do_sample=False,
                              eos_token_id=None, pad_token_id=0)
        greedy.append(done[0, len(prompt):].tolist())
    chat = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}], tokenize=False, add_generation_prompt=True)
    (out / "golden.json").write_text(json.dumps(
        {"texts": TEXTS, "ids": ids, "greedy": greedy, "chat": chat}) + "\n")


main()
