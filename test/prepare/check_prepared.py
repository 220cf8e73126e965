"""Works out from the raw rows, with pandas and no code of ours, what `rlvr prepare` must find.

    check_prepared.py TRAIN VALIDATION OUT

Counts rows left out by reason, reads the files that were written with pyarrow and DuckDB, and
prints one JSON object: `expected` counts, `schema`, and `equal` for rows read back three ways.
"""

import json
import re
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq

SUFFIX = re.compile(
    r"\s*Write Python code to solve the problem\.\s*Present the code in\s*```python\s*Your code"
    r"\s*```\s*at the end\.?\s*$"
)
FIXED = 44 + 162
CALL_FIXED = 44 + len(
    "Read the problem below and write a Python function named .\n"
    "Return only one Python code block, with no explanations.\n\nProblem:\n"
)


def task_of(messages) -> str:
    return SUFFIX.sub("", next(m["content"] for m in messages if m["role"] == "user")).strip()


def words(text: str) -> list:
    return re.findall(r"\w+", text)


def is_name(word: str) -> bool:
    letters = re.search(r"[^\W\d_]", word)
    mixed = letters and re.search(r"[\d_]", word)
    return bool(mixed or re.search(r"[a-z][A-Z]", word) or (letters and len(word) == 1))


def shingles(text: str) -> set:
    blind = ["#" if is_name(word) else word.lower() for word in words(text)]
    return {tuple(blind[i : i + 3]) for i in range(len(blind) - 2)}


def values(truth: dict) -> set:
    """The values of the eight shortest tests, as one text each."""
    sides = [
        (a, b) if isinstance(a, str) else (json.dumps(a), json.dumps(b[0]))
        for a, b in zip(truth["inputs"], truth["outputs"])
    ]
    sides.sort(key=lambda pair: len(pair[0]) + len(pair[1]))
    found = []
    for left, right in sides[:8]:
        text = f"{left[:200]} {right[:200]}"
        tokens = re.findall(r"-?\d+(?:\.\d+)?|[^\W\d_]\w*", text)
        if len(tokens) >= 3:
            found.append(" ".join(tokens).lower())
    return set(found)


def is_near(a: dict, b: dict) -> bool:
    both = len(a["shingles"] & b["shingles"])
    text = both / max(1, len(a["shingles"] | b["shingles"]))
    if text >= 0.95:
        return True
    if text < 0.5:
        return False
    few = min(len(a["values"]), len(b["values"]))
    shared = len(a["values"] & b["values"])
    return shared >= 2 and shared / few >= 0.8


def count(rows: pd.DataFrame, earlier: list, split: str) -> dict:
    counts: dict = {}
    for row in rows.itertuples():
        reason = reason_of(row, earlier, split)
        if reason:
            counts[reason] = counts.get(reason, 0) + 1
    return counts


def reason_of(row, earlier: list, split: str):
    if row.ability != "code":
        return "not_code"
    task = task_of(row.prompt)
    truth = json.loads(row.reward_model["ground_truth"])
    name = truth.get("fn_name")
    fixed = FIXED if name is None else CALL_FIXED + len(name)
    if fixed + len(task) > 4 * 512:
        return "prompt_too_long"
    this = {
        "key": " ".join(words(task)).lower(),
        "shingles": shingles(task),
        "values": values(truth),
        "split": split,
    }
    for other in earlier:
        if other["key"] == this["key"]:
            return "duplicate" if other["split"] == split else "duplicate_of_validation"
    for other in earlier:
        if is_near(this, other):
            return "near_duplicate" if other["split"] == split else "near_duplicate_of_validation"
    earlier.append(this)
    return None


def read_back(out: Path) -> tuple:
    path = str(next(out.glob("train*.parquet")))
    table = pq.read_table(path)
    arrow = table.to_pylist()
    query = duckdb.sql(f"select * from '{path}'")
    duck = [dict(zip(query.columns, row)) for row in query.fetchall()]
    problems = [json.loads(line) for line in open(path.replace(".parquet", ".jsonl"))]
    same = all(
        row["prompt"] == problem["prompt"]
        and row["extra_info"]["problem_id"] == problem["id"]
        and json.loads(row["reward_model"]["ground_truth"])["problem_id"] == problem["id"]
        for row, problem in zip(arrow, problems)
    )
    equal = arrow == duck and len(arrow) == len(problems) and same
    return equal, [f"{field.name}: {field.type}" for field in table.schema], len(arrow)


def main(train: str, validation: str, out: str) -> None:
    earlier: list = []
    expected = {"validation": count(pd.read_parquet(validation), earlier, "validation")}
    expected["train"] = count(pd.read_parquet(train), earlier, "train")
    equal, schema, rows = read_back(Path(out))
    print(json.dumps({"expected": expected, "equal": equal, "schema": schema, "rows": rows}))


if __name__ == "__main__":
    main(*sys.argv[1:4])
