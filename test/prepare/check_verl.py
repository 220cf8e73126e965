"""Loads prepared parquet with veRL's own RLHFDataset and looks at what a model would see.

    check_verl.py OUT

Prints one JSON object: `rows` loaded, `seen` (prompts that hold their task after the chat
template), and `plain` (whether a plain text prompt, for comparison, loses its task).
"""

import json
import sys
from pathlib import Path

from omegaconf import OmegaConf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from verl.utils.dataset.rl_dataset import RLHFDataset

# The branches of Qwen2.5's template that matter here.
TEMPLATE = (
    "{%- if messages[0]['role'] == 'system' %}"
    "{{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}"
    "{%- else %}"
    "{{- '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}"
    "{%- endif %}"
    "{%- for message in messages %}"
    "{%- if (message.role == 'user') or (message.role == 'assistant') %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)


def make_tokenizer() -> PreTrainedTokenizerFast:
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    vocabulary = {piece: index for index, piece in enumerate(sorted(alphabet))}
    inner = Tokenizer(models.BPE(vocabulary, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|im_end|>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def main(out: str) -> None:
    files = [str(path) for path in sorted(Path(out).glob("*.parquet"))]
    config = OmegaConf.create(
        {
            "prompt_key": "prompt",
            "max_prompt_length": 4096,
            "filter_overlong_prompts": True,
            "filter_overlong_prompts_workers": 1,
            "cache_dir": str(Path(out) / "verl-cache"),
            "truncation": "error",
            "shuffle": False,
        }
    )
    tokenizer = make_tokenizer()
    dataset = RLHFDataset(data_files=files, tokenizer=tokenizer, config=config)
    seen = 0
    for index in range(len(dataset)):
        row = dataset[index]
        messages = row["raw_prompt"]
        text = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False
        )
        task = messages[-1]["content"].split("Problem:\n")[1]
        truth = json.loads(row["reward_model"]["ground_truth"])
        same = truth["problem_id"] == row["extra_info"]["problem_id"]
        seen += task in text and len(truth["inputs"]) == len(truth["outputs"]) and same
    plain = tokenizer.apply_chat_template(
        list("Add two numbers."), add_generation_prompt=True, tokenize=False
    )
    print(json.dumps({"rows": len(dataset), "seen": seen, "plain": "Add two" not in plain}))


if __name__ == "__main__":
    main(sys.argv[1])
