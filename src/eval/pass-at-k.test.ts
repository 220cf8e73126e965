import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { meanPassAtK, passAtK } from "./pass-at-k.js";

const golden = JSON.parse(
  readFileSync(new URL("../../test/golden/statistics.json", import.meta.url), "utf8"),
) as { passAtK: { n: number; c: number; k: number; value: number }[] };

describe("passAtK", () => {
  test.each(golden.passAtK)(
    "agrees with SciPy's binomials at n=$n c=$c k=$k",
    ({ n, c, k, value }) => {
      expect(passAtK({ n, c }, k)).toBeCloseTo(value, 12);
    },
  );

  test("equals the share of k-subsets with a right sample, counted one by one", () => {
    const [n, c, k] = [6, 2, 3];
    let subsets = 0;
    let withRight = 0;
    for (let bits = 0; bits < 1 << n; bits++) {
      const members = [...Array(n).keys()].filter((i) => bits & (1 << i));
      if (members.length !== k) continue;
      subsets++;
      if (members.some((i) => i < c)) withRight++;
    }
    expect(passAtK({ n, c }, k)).toBeCloseTo(withRight / subsets, 12);
  });

  test("refuses k above n", () => {
    expect(() => passAtK({ n: 2, c: 0 }, 5)).toThrow("pass@5");
  });
});

describe("meanPassAtK", () => {
  test("is null when one problem has too few samples", () => {
    expect(
      meanPassAtK(
        [
          { n: 10, c: 1 },
          { n: 9, c: 9 },
        ],
        10,
      ),
    ).toBeNull();
  });

  test("is null without problems", () => {
    expect(meanPassAtK([], 1)).toBeNull();
  });
});
