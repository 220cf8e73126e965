/** What users get beside our own code may be given to them. */
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { describeLicenses, isCompatible, readLicenses } from "../../scripts/licenses.js";

const DOCUMENT = fileURLToPath(new URL("../../docs/LICENSES.md", import.meta.url));

describe("licences", () => {
  const rows = readLicenses();

  test("of everything that users get are compatible", () => {
    const wrong = rows.filter(({ license }) => !isCompatible(license));
    expect(wrong).toEqual([]);
  });

  test("stand in docs/LICENSES.md (vitest -u writes it anew)", async () => {
    await expect(describeLicenses(rows)).toMatchFileSnapshot(DOCUMENT);
  });

  test("are found for what is installed and for what the dashboard takes in", () => {
    const names = (why: string) => rows.filter((row) => row.why === why).map(({ name }) => name);
    expect(names("direct")).toContain("onnxruntime-node");
    expect(names("through another")).toContain("onnxruntime-common");
    expect(names("in the dashboard")).toEqual(["preact", "uplot"]);
    expect(rows.map(({ name }) => name)).not.toContain("typescript");
  });

  test.each([
    ["MIT", true],
    ["(MIT OR CC0-1.0)", true],
    ["(MIT OR GPL-3.0-only)", true],
    ["MIT AND Apache-2.0", true],
    ["MIT AND GPL-2.0-only", false],
    ["GPL-3.0-or-later", false],
    ["AGPL-3.0-only", false],
    ["SEE LICENSE IN LICENSE.txt", false],
    ["UNLICENSED", false],
    [null, false],
  ])("%s: %s", (license, expected) => {
    expect(isCompatible(license)).toBe(expected);
  });
});
