/** Families that choose: comparisons, yes or no, one answer out of several. */
import { family, yesNo } from "./family.js";
import type { Family } from "./family.js";

type One = [number];
type Two = [number, number];
type Three = [number, number, number];

/** The table of conditions. */
export const CONDITIONS: Family[] = [
  family<Two>({
    name: "larger",
    inputs: ["pair_line", "pair_lines"],
    asks: ["the larger one", "their maximum", "the bigger of the two", "the greater number"],
    right: ["max(a, b)", "a if a > b else b"],
    wrong: ["min(a, b)", "a", "a if a < b else b"],
    answer: ([a, b]) => (a > b ? a : b),
    edges: () => [
      [2, 9],
      [9, 2],
    ],
    callable: true,
    easy: true,
  }),
  family<Two>({
    name: "smaller",
    inputs: ["pair_line", "pair_lines"],
    asks: ["the smaller one", "their minimum", "the lesser of the two", "the lower number"],
    right: ["min(a, b)", "a if a < b else b"],
    wrong: ["max(a, b)", "b", "a if a > b else b"],
    answer: ([a, b]) => (a < b ? a : b),
    edges: () => [
      [2, 9],
      [9, 2],
    ],
    callable: true,
  }),
  family<One>({
    name: "parity",
    inputs: ["integer"],
    asks: ["even or odd", "its parity, even or odd", "even if it is even and odd otherwise"],
    right: ['"even" if n % 2 == 0 else "odd"', '"odd" if n % 2 else "even"'],
    wrong: ['"even" if n % 2 else "odd"', "n % 2", '"even" if n // 2 == 0 else "odd"'],
    answer: ([n]) => (n % 2 === 0 ? "even" : "odd"),
    edges: () => [[0], [-3]],
    callable: true,
  }),
  family<One>({
    name: "sign",
    inputs: ["integer"],
    asks: [
      "positive, negative or zero",
      "its sign as positive, negative or zero",
      "whether it is positive, negative or zero",
    ],
    right: [
      '"positive" if n > 0 else "negative" if n < 0 else "zero"',
      '"zero" if n == 0 else "positive" if n > 0 else "negative"',
    ],
    wrong: [
      '"negative" if n > 0 else "positive" if n < 0 else "zero"',
      '"positive" if n > 0 else "negative"',
      '"positive" if n else "zero"',
    ],
    answer: ([n]) => (n === 0 ? "zero" : n > 0 ? "positive" : "negative"),
    edges: () => [[0], [-1], [1]],
    bounds: [-50, 50],
  }),
  family<One>({
    name: "absolute",
    inputs: ["integer"],
    asks: ["its absolute value", "how far it is from zero", "it without its sign"],
    right: ["abs(n)", "n if n > 0 else -n"],
    wrong: ["-abs(n)", "-n", "n"],
    answer: ([n]) => (n < 0 ? -n : n),
    edges: () => [[0], [-12], [8]],
    bounds: [-60, 60],
    callable: true,
  }),
  family<One>({
    name: "divisible",
    inputs: ["integer"],
    asks: [
      "yes if it is divisible by {k} and no otherwise",
      "yes if it is a multiple of {k}, else no",
      "yes if {k} divides it and no if not",
    ],
    right: ['"yes" if n % {k} == 0 else "no"', '"no" if n % {k} else "yes"'],
    wrong: ['"yes" if n % {k} else "no"', '"yes" if n // {k} == 0 else "no"', "n % {k} == 0"],
    answer: ([n], { n: k }) => yesNo(n % k === 0),
    constant: { low: 3, high: 19 },
    edges: ({ n: k }) => [[3 * k], [3 * k + 1], [7 * k]],
  }),
  family<One>({
    name: "above",
    inputs: ["integer"],
    asks: [
      "yes if it is above {k} and no otherwise",
      "yes if it is greater than {k}, else no",
      "yes if it is more than {k} and no if not",
    ],
    right: ['"yes" if n > {k} else "no"', '"no" if n <= {k} else "yes"'],
    wrong: ['"yes" if n < {k} else "no"', '"yes" if n >= {k} else "no"', "n > {k}"],
    answer: ([n], { n: k }) => yesNo(n > k),
    constant: { low: 10, high: 60 },
    edges: ({ n: k }) => [[k], [k + 1], [k - 1]],
    callable: true,
  }),
  family<Two>({
    name: "compare",
    inputs: ["pair_line", "pair_lines"],
    asks: [
      "less, equal or greater for the first against the second",
      "whether the first is less, equal or greater",
      "how the first compares: less, equal or greater",
    ],
    right: [
      '"less" if a < b else "greater" if a > b else "equal"',
      '"equal" if a == b else "less" if a < b else "greater"',
    ],
    wrong: [
      '"greater" if a < b else "less" if a > b else "equal"',
      '"less" if a < b else "greater"',
      '"equal" if a == b else "less"',
    ],
    answer: ([a, b]) => (a === b ? "equal" : a < b ? "less" : "greater"),
    edges: () => [
      [4, 4],
      [2, 9],
      [9, 2],
    ],
    transfer: true,
  }),
  family<One>({
    name: "leap_year",
    inputs: ["integer"],
    asks: [
      "yes if that year is a leap year and no otherwise",
      "yes for a leap year, else no",
      "yes if it is a leap year and no if not",
    ],
    right: [
      '"yes" if n % 4 == 0 and n % 100 != 0 or n % 400 == 0 else "no"',
      '"yes" if n % 400 == 0 or n % 4 == 0 and n % 100 else "no"',
    ],
    wrong: [
      '"yes" if n % 4 else "no"',
      '"yes" if n % 4 == 0 else "no"',
      '"yes" if n % 100 == 0 else "no"',
    ],
    answer: ([n]) => yesNo((n % 4 === 0 && n % 100 !== 0) || n % 400 === 0),
    edges: () => [[1900], [2000], [2024], [2023]],
    bounds: [1800, 2100],
    transfer: true,
  }),
  family<Three>({
    name: "largest_of_three",
    inputs: ["triple"],
    asks: ["the largest of the three", "the maximum of the three", "the biggest of all three"],
    right: ["max(a, b, c)", "max([a, b, c])"],
    wrong: ["min(a, b, c)", "max(a, b)", "c"],
    answer: ([a, b, c]) => Math.max(a, b, c),
    edges: () => [
      [1, 2, 9],
      [9, 2, 1],
      [1, 9, 2],
    ],
    callable: true,
  }),
  family<Three>({
    name: "median_of_three",
    inputs: ["triple"],
    asks: [
      "the middle one in order of size",
      "the median of the three",
      "the one between the smallest and the largest",
    ],
    right: ["sorted([a, b, c])[1]", "a + b + c - max(a, b, c) - min(a, b, c)"],
    wrong: ["b", "sorted([a, b, c])[0]", "(a + b + c) // 3"],
    answer: ([a, b, c]) => [a, b, c].sort((x, y) => x - y)[1],
    edges: () => [
      [5, 1, 20],
      [20, 5, 1],
      [1, 20, 5],
    ],
  }),
  family<Three>({
    name: "all_equal",
    inputs: ["triple"],
    asks: [
      "yes if all three are equal and no otherwise",
      "yes if the three are the same, else no",
      "yes if they are all equal and no if not",
    ],
    right: ['"yes" if a == b == c else "no"', '"yes" if a == b and b == c else "no"'],
    wrong: [
      '"yes" if a != b else "no"',
      '"yes" if a == b else "no"',
      '"yes" if a == b or b == c else "no"',
    ],
    answer: ([a, b, c]) => yesNo(a === b && b === c),
    edges: () => [
      [4, 4, 4],
      [4, 4, 5],
      [5, 4, 4],
      [7, 7, 7],
    ],
    bounds: [1, 3],
    transfer: true,
  }),
  family<Three>({
    name: "triangle",
    inputs: ["triple"],
    asks: [
      "yes if they can be the sides of a triangle and no otherwise",
      "yes if a triangle has these sides, else no",
      "yes if they make a triangle and no if not",
    ],
    right: [
      '"yes" if max(a, b, c) * 2 < a + b + c else "no"',
      '"yes" if a + b > c and a + c > b and b + c > a else "no"',
    ],
    wrong: [
      '"no" if max(a, b, c) * 2 < a + b + c else "yes"',
      '"yes" if a + b > c else "no"',
      '"yes" if max(a, b, c) * 2 > a + b + c else "no"',
    ],
    answer: ([a, b, c]) => yesNo(a + b > c && a + c > b && b + c > a),
    edges: () => [
      [3, 4, 5],
      [20, 3, 4],
      [3, 4, 7],
      [3, 20, 4],
    ],
    transfer: true,
  }),
];
