#!/usr/bin/env bash
# The starter with GRPO: groups of eight answers are compared with each other, no critic.
# Words that you add are overrides of the config.
set -euo pipefail

# Before the first step it prints the arithmetic: 12 prompts, 8 answers each, mini-batches, updates.
npx rlvr train --preset starter-grpo --out runs/grpo "$@"

# Before and after, paired by problem; group/zero_std in metrics.jsonl says how often a group had
# nothing to compare.
npx rlvr report runs/grpo
