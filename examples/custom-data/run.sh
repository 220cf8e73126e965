#!/usr/bin/env bash
# From problems of your own to a training run. Words that you add are overrides of the config.
set -euo pipefail
mine=${PROBLEMS:-examples/custom-data/problems.jsonl}

# Run every reference solution on every test. The second test of mine/broken expects 1 - 1 to be 1:
# it is named, and left out of the cleaned file.
npx rlvr verify --audit "$mine" --out audited

# Check lengths and repeats, say why a row was left out, write data/train6.jsonl and its parquet.
npx rlvr prepare audited/problems.cleaned.jsonl --out data --limit all --dedupe off

# Train on them: all six in every step, eight answers each. Real data has thousands of problems.
npx rlvr train --out runs/custom-data data.train_files=data/train6.jsonl \
  data.train_batch_size=6 actor_rollout_ref.rollout.n=8 \
  actor_rollout_ref.actor.ppo_mini_batch_size=3 "$@"
