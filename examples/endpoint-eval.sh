#!/usr/bin/env bash
# Evaluates two models behind an OpenAI-compatible server (vLLM, SGLang, llama.cpp, Ollama, a hosted
# one) on a problem file, and compares them problem by problem.
#
#     examples/endpoint-eval.sh BASE_URL MODEL_BEFORE MODEL_AFTER [PROBLEMS]
set -euo pipefail
base_url=$1 before=$2 after=$3 problems=${4:-starter/data/heldout.jsonl}

# What the server could not answer is asked again by the same command, and counts for nobody till then.
for model in "$before" "$after"; do
  npx rlvr eval "$problems" --model "$model" --base-url "$base_url" \
    --temperature 0 --max-tokens 512 --out "evals/$model"
done
npx rlvr report "evals/$before" "evals/$after"
