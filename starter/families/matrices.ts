/** Families on square matrices of small integers. */
import { countIf, family, total, yesNo } from "./family.js";
import type { Family } from "./family.js";

type Matrix = [number[][]];

const SKEW = [
  [
    [1, 2],
    [3, 4],
  ],
] as [number[][]];
const EVEN = [
  [
    [5, 2, 0],
    [2, 7, 3],
    [0, 3, 1],
  ],
] as [number[][]];
const LOPSIDED = [
  [
    [1, 2],
    [9, 0],
  ],
] as [number[][]];
const edges = (): Matrix[] => [SKEW, EVEN, LOPSIDED];

/** The table of matrices. */
export const MATRICES: Family[] = [
  family<Matrix>({
    name: "matrix_sum",
    inputs: ["matrix"],
    asks: ["the sum of all entries", "the total of all entries", "what all entries add up to"],
    right: ["sum(map(sum, m))", "sum(sum(r) for r in m)"],
    wrong: ["sum(m)", "sum(m[0])", "sum(map(len, m))"],
    answer: ([m]) => total(m.flat()),
    edges,
    callable: true,
  }),
  family<Matrix>({
    name: "trace",
    inputs: ["matrix"],
    asks: ["the sum of the main diagonal", "its trace", "what the main diagonal adds up to"],
    right: [
      "sum(m[i][i] for i in range(len(m)))",
      "r = 0\nfor i in range(len(m)):\n    r += m[i][i]\nr",
    ],
    wrong: ["sum(m[0][i] for i in range(len(m)))", "sum(m[i] for i in range(len(m)))", "m[0][0]"],
    answer: ([m]) => total(m.map((row, i) => row[i])),
    edges,
  }),
  family<Matrix>({
    name: "matrix_max",
    inputs: ["matrix"],
    asks: ["the largest entry", "the largest of all entries", "the maximum entry"],
    right: ["max(map(max, m))", "max(max(r) for r in m)"],
    wrong: ["max(m)", "max(m[0])", "min(map(max, m))"],
    answer: ([m]) => Math.max(...m.flat()),
    edges: () => [
      SKEW,
      EVEN,
      [
        [
          [1, 2],
          [9, 0],
        ],
      ],
    ],
    transfer: true,
  }),
  family<Matrix>({
    name: "row_sums",
    inputs: ["matrix"],
    asks: ["the sum of each row", "the row sums on one line", "what each row adds up to"],
    right: ["*[sum(r) for r in m]", "*map(sum, m)"],
    wrong: ["*[sum(c) for c in zip(*m)]", "*m", "sum(m[0])"],
    answer: ([m]) => m.map(total),
    edges,
  }),
  family<Matrix>({
    name: "column_sums",
    inputs: ["matrix"],
    asks: ["the sum of each column", "the column sums on one line", "what each column adds up to"],
    right: ["*[sum(c) for c in zip(*m)]", "*map(sum, zip(*m))"],
    wrong: ["*[sum(r) for r in m]", "*zip(*m)", "*[sum(m[i]) for i in range(len(m))]"],
    answer: ([m]) => m[0].map((_, j) => total(m.map((row) => row[j]))),
    edges,
    transfer: true,
  }),
  family<Matrix>({
    name: "symmetric",
    inputs: ["matrix"],
    asks: [
      "yes if it is symmetric and no otherwise",
      "yes for a symmetric matrix, else no",
      "yes if rows and columns are the same and no if not",
    ],
    right: [
      '"yes" if m == [list(c) for c in zip(*m)] else "no"',
      '"yes" if all(r == list(c) for r, c in zip(m, zip(*m))) else "no"',
    ],
    wrong: [
      '"no" if m == [list(c) for c in zip(*m)] else "yes"',
      '"yes" if m == zip(*m) else "no"',
      '"yes" if m == m[::-1] else "no"',
    ],
    answer: ([m]) => yesNo(m.every((row, i) => row.every((entry, j) => entry === m[j][i]))),
    edges: () => [
      SKEW,
      EVEN,
      [
        [
          [1, 3],
          [3, 1],
        ],
      ],
    ],
    transfer: true,
  }),
  family<Matrix>({
    name: "zeros",
    inputs: ["matrix"],
    asks: ["how many entries are zero", "the number of zeros", "the count of zero entries"],
    right: ["sum(r.count(0) for r in m)", "sum(x == 0 for r in m for x in r)"],
    wrong: ["m.count(0)", "sum(r.count(1) for r in m)", "sum(x for r in m for x in r)"],
    answer: ([m]) => countIf(m.flat(), (entry) => entry === 0),
    edges: () => [
      EVEN,
      SKEW,
      [
        [
          [0, 0],
          [0, 7],
        ],
      ],
    ],
    bounds: [0, 3],
    transfer: true,
  }),
];
