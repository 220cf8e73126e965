#!/usr/bin/env bash
# Trains the starter by a reward of your own. Words that you add are overrides of the config.
set -euo pipefail

# `penalty`, the further figure that the reward gives, is logged as reward/penalty.
npx rlvr train --out runs/custom-reward \
  reward.custom_reward_function.path=examples/custom-reward/my-reward.ts "$@"
