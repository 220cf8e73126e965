"""One measurement of PyTorch and transformers: torch_baseline.py '{"task": …, "threads": …, …}'.

Prints {"seconds": [...], "peakBytes": n}, like measure.ts, for the same work: forward, backward and
AdamW of one batch in eager mode, or sampled generation with the key-value cache.
"""

import json
import resource
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

job = json.loads(sys.argv[1])
torch.set_num_threads(job["threads"])
torch.manual_seed(0)
decoder, shape = job["decoder"], job["shape"]
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=decoder["vocabSize"], hidden_size=decoder["hiddenSize"],
    intermediate_size=decoder["intermediateSize"], num_hidden_layers=decoder["layers"],
    num_attention_heads=decoder["heads"], num_key_value_heads=decoder["kvHeads"],
    max_position_embeddings=2048, rms_norm_eps=1e-5, tie_word_embeddings=True,
    bos_token_id=None, eos_token_id=None, pad_token_id=0))


def train_step():
    """Forward, backward, AdamW."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    tokens = torch.randint(0, decoder["vocabSize"], (shape["trainBatch"], shape["trainLength"] + 1))

    def once():
        optimizer.zero_grad(set_to_none=True)
        logits = model(tokens[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()

    return once


def generation():
    """Sampling with the cache, prompts included."""
    model.eval()
    prompts = torch.randint(1, decoder["vocabSize"], (shape["generateBatch"], shape["promptLength"]))
    mask = torch.ones_like(prompts)

    def once():
        out = model.generate(prompts, attention_mask=mask, do_sample=True, top_k=0, top_p=1.0,
                             max_new_tokens=shape["newTokens"], min_new_tokens=shape["newTokens"],
                             pad_token_id=0)
        assert out.shape[1] == shape["promptLength"] + shape["newTokens"]

    return once


once = train_step() if job["task"] == "train" else generation()
for _ in range(2):
    once()
seconds = []
for _ in range(job["repeats"]):
    start = time.perf_counter()
    once()
    seconds.append(time.perf_counter() - start)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "peakBytes": peak}))
