"""Makes a synthetic parquet in the shape and proportions of Eurus-2-RL-Data.

    make_rows.py OUT [ROWS] [SEED]

One row in 19 is a code row, spread over the file; its tests are digits in the amounts that real
rows have: mostly tens of kilobytes, some several megabytes. The other rows are mathematics.
"""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema(
    [
        ("data_source", pa.string()),
        ("prompt", pa.list_(pa.struct([("content", pa.string()), ("role", pa.string())]))),
        ("ability", pa.string()),
        ("reward_model", pa.struct([("ground_truth", pa.string()), ("style", pa.string())])),
        ("extra_info", pa.struct([("index", pa.int64()), ("split", pa.string())])),
    ]
)
SYSTEM = "When tackling complex reasoning tasks, you have access to the following actions. " * 8
SUFFIX = (
    "\n\nWrite Python code to solve the problem. Present the code in \n"
    "```python\nYour code\n```\nat the end."
)
ROWS_PER_GROUP = 1000
POOL_CHARACTERS = 16_000_000


class Pool:
    """Random text to cut pieces from, which is much faster than drawing every word."""

    def __init__(self, rng: np.random.Generator, words: np.ndarray) -> None:
        self.rng = rng
        self.text = " ".join(words[rng.integers(0, len(words), POOL_CHARACTERS // 6)])

    def cut(self, length: int) -> str:
        start = int(self.rng.integers(0, len(self.text) - length))
        return self.text[start : start + length]


def tests(rng: np.random.Generator, numbers: Pool, size: int) -> str:
    count = int(rng.integers(2, 40))
    inputs = [f"{i}\n{numbers.cut(max(8, size // count))}\n" for i in range(count)]
    outputs = [f"{numbers.cut(6)}\n" for _ in range(count)]
    return json.dumps({"inputs": inputs, "outputs": outputs})


def make_row(rng: np.random.Generator, words: Pool, numbers: Pool, index: int) -> dict:
    is_code = rng.random() < 25276 / 480537
    if is_code:
        size = int(min(rng.lognormal(10.3, 1.35), 6e6))
        task = words.cut(int(rng.lognormal(7.2, 0.6))) + SUFFIX
        truth, source = tests(rng, numbers, size), ["codecontests", "apps", "taco", "codeforces"][index % 4]
    else:
        task = words.cut(int(rng.lognormal(6.3, 0.6)))
        truth, source = str(rng.integers(0, 10**6)), "numina_olympiads"
    return {
        "data_source": source,
        "prompt": [{"content": SYSTEM, "role": "system"}, {"content": task, "role": "user"}],
        "ability": "code" if is_code else "math",
        "reward_model": {"ground_truth": truth, "style": "rule"},
        "extra_info": {"index": index, "split": "train"},
    }


def main(out: str, rows: int = 480_000, seed: int = 1) -> None:
    rng = np.random.default_rng(seed)
    words = Pool(rng, np.array([f"w{i:x}" for i in range(5000)]))
    numbers = Pool(rng, rng.integers(0, 10**6, 200_000).astype(str))
    with pq.ParquetWriter(out, SCHEMA) as writer:
        for start in range(0, rows, ROWS_PER_GROUP):
            group = [make_row(rng, words, numbers, i) for i in range(start, min(start + ROWS_PER_GROUP, rows))]
            writer.write_table(pa.Table.from_pylist(group, SCHEMA))


if __name__ == "__main__":
    main(sys.argv[1], *(int(word) for word in sys.argv[2:4]))
