/** Every case as a test, so that `npm test` runs what `npm run cases` runs. */
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { loadCases, runCases } from "./runner.js";

const cases = loadCases(fileURLToPath(new URL("./data", import.meta.url)));

describe.each([...new Set(cases.map((testCase) => testCase.area))])(
  "cases of the area %s",
  (area) => {
    test("every strict case has the right outcome", { timeout: 300_000 }, async (context) => {
      const results = await runCases(cases.filter((testCase) => testCase.area === area));
      const failures = results
        .filter(({ state, testCase }) => state === "failed" && testCase.strict)
        .map(({ testCase, detail }) => `${testCase.id}: ${detail}`);
      expect(failures).toEqual([]);
      const skipped = results.filter(({ state }) => state === "skipped");
      if (skipped.length === results.length) context.skip(skipped[0].detail);
    });
  },
);
