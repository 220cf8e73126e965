/** The parquet reader against pyarrow: every codec, both page versions, lists across pages. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openParquet } from "../../src/formats/parquet.js";

const venvs = process.env["CODE_RLVR_VENVS"] ?? join(homedir(), ".cache/code-rlvr/venvs");
const python = join(venvs, "data/bin/python");
const withArrow = existsSync(python) ? describe : describe.skip;
if (withArrow === describe.skip) console.warn("skipped: no environment; run test/venvs.sh data");

const dir = mkdtempSync(join(tmpdir(), "parquet-"));
afterAll(() => rmSync(dir, { recursive: true }));

async function readAll(
  name: string,
  options: Parameters<Awaited<ReturnType<typeof openParquet>>["read"]>[0] = {},
) {
  const file = await openParquet(join(dir, name));
  const rows = [];
  const skipped = [];
  for await (const batch of file.read(options)) {
    rows.push(...batch.rows);
    skipped.push(...batch.skipped);
  }
  await file.close();
  return { rows, skipped };
}

withArrow("openParquet", () => {
  let expected: Record<string, unknown>[] = [];
  let names: string[] = [];
  beforeAll(() => {
    execFileSync(python, [fileURLToPath(new URL("make_parquet.py", import.meta.url)), dir]);
    const lines = readFileSync(join(dir, "rows.jsonl"), "utf8").trim().split("\n");
    expected = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    names = readdirSync(dir).filter((name) => name.endsWith(".parquet"));
  });

  test("reads what pyarrow wrote, in every physical form", async () => {
    expect(names).toHaveLength(24);
    for (const name of names) {
      const { rows } = await readAll(name);
      expect({ name, values: rows.map(({ value }) => value) }).toEqual({ name, values: expected });
      expect(rows.map(({ row }) => row)).toEqual(expected.map((_, index) => index + 1));
    }
  });

  test("leaves rows out by one column and shifts none of the others", async () => {
    const keep = (value: unknown) => value === "code";
    for (const name of names) {
      const { rows, skipped } = await readAll(name, { where: { column: "kind", keep } });
      const wanted = expected
        .map((value, index) => ({ row: index + 1, value }))
        .filter(({ value }) => value["kind"] === "code");
      expect({ name, rows }).toEqual({ name, rows: wanted });
      expect(skipped).toHaveLength(expected.length - wanted.length);
    }
  });

  test("reads the columns asked for, and names one that is missing", async () => {
    const { rows } = await readAll(names[0], { columns: ["id", "info"] });
    expect(Object.keys(rows[0].value)).toEqual(["id", "info"]);
    await expect(readAll(names[0], { columns: ["none"] })).rejects.toThrow(
      /expected the column none/,
    );
  });
});
