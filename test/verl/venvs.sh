#!/usr/bin/env bash
# Makes the Python environments of `npm run test:verl`, outside the tree: each release of veRL with
# Hydra alone (a few MB), which is enough to resolve configurations, and `verl09`, a whole one.
set -euo pipefail

root=${CODE_RLVR_VENVS:-$HOME/.cache/code-rlvr/venvs}
python=${PYTHON:-python3}

for version in 0.5.0 0.6.1 0.7.1 0.8.0 0.9.0 0.9.1; do
  venv=$root/verl-$version
  if [ -e "$venv/.complete" ]; then continue; fi
  mkdir -p "$root"
  "$python" -m venv "$venv"
  "$venv/bin/pip" -q install --no-deps "verl==$version" hydra-core==1.3.8 omegaconf==2.3.1 \
    antlr4-python3-runtime==4.9.3 pyyaml packaging
  touch "$venv/.complete"
done
"$(dirname "$0")/../venvs.sh" verl09
