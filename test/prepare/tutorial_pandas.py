"""The usual way with pandas, as the baseline of the bench `prepare`: everything in memory.

    tutorial_pandas.py IN OUT [LIMIT] [SEED]

Reads the whole file, keeps the code rows, puts their task into the prompt template, leaves out
long prompts, draws a sample and writes it.
"""

import sys

import pandas as pd

SYSTEM = "You are a competitive programming assistant."
USER = (
    "Read the problem below and write a Python solution that reads from stdin and writes to "
    "stdout.\nReturn only one Python code block, with no explanations.\n\nProblem:\n"
)
MAX_CHARACTERS = 512 * 4


def rebuild(messages) -> list:
    task = next(message["content"] for message in messages if message["role"] == "user")
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER + task}]


def main(path: str, out: str, limit: int = 1000, seed: int = 42) -> None:
    rows = pd.read_parquet(path)
    rows = rows[rows["ability"] == "code"].copy()
    rows["prompt"] = rows["prompt"].map(rebuild)
    length = rows["prompt"].map(lambda prompt: sum(len(part["content"]) for part in prompt))
    rows = rows[length <= MAX_CHARACTERS]
    rows = rows.sample(n=min(limit, len(rows)), random_state=seed).reset_index(drop=True)
    columns = ["prompt", "reward_model", "data_source", "ability", "extra_info"]
    rows[columns].to_parquet(out)
    print(len(rows))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *(int(word) for word in sys.argv[3:5]))
