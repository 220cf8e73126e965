"""Writes the same nested rows in many physical forms, and as JSON lines to hold them against.

    make_parquet.py FOLDER
"""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("kind", pa.string()),
        ("text", pa.string()),
        ("flag", pa.bool_()),
        ("number", pa.float64()),
        ("tests", pa.list_(pa.struct([("i", pa.string()), ("o", pa.list_(pa.int32()))]))),
        ("info", pa.struct([("a", pa.string()), ("b", pa.struct([("c", pa.int64())]))])),
    ]
)


def make_row(i: int) -> dict:
    tests = [
        {"i": None if j % 5 == 1 else f"in {i} {j}", "o": None if j % 7 == 2 else list(range(j % 4))}
        for j in range((i * 13) % 40)
    ]
    return {
        "id": None if i % 11 == 3 else i * 2**40,
        "kind": ["code", "math"][i % 2],
        "text": None if i % 9 == 4 else f"é{i}💡" * (i % 50),
        "flag": None if i % 6 == 5 else i % 3 == 0,
        "number": None if i % 8 == 1 else i / 4,
        "tests": None if i % 10 == 7 else tests,
        "info": None if i % 12 == 2 else {"a": f"a{i % 5}", "b": None if i % 4 == 1 else {"c": i}},
    }


def main(folder: str) -> None:
    rows = [make_row(i) for i in range(1500)]
    table = pa.Table.from_pylist(rows, SCHEMA)
    with open(Path(folder) / "rows.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    for codec in ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]:
        for version in ["1.0", "2.0"]:
            for dictionary in [True, False]:
                pq.write_table(
                    table,
                    Path(folder) / f"{codec}-{version}-{dictionary}.parquet",
                    compression=codec,
                    data_page_version=version,
                    use_dictionary=dictionary,
                    # Pages of a few rows, so that lists go on over their ends.
                    data_page_size=700,
                    write_batch_size=64,
                    row_group_size=1000,
                )


if __name__ == "__main__":
    main(sys.argv[1])
