"""Resolves overrides with Hydra against the installed veRL's own configuration, as main_ppo does.

    python resolve_config.py < words.json      a JSON list of overrides

Prints the resolved configuration as JSON. Needs veRL's files and Hydra; imports no veRL code.
"""

import importlib.util
import json
import os
import sys

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

spec = importlib.util.find_spec("verl")
folder = os.path.join(next(iter(spec.submodule_search_locations)), "trainer", "config")
words = json.load(sys.stdin)
with initialize_config_dir(config_dir=folder, version_base=None):
    config = compose(config_name="ppo_trainer", overrides=words)
print(json.dumps(OmegaConf.to_container(config, resolve=True)))
