/** Families that repeat: sums and products over ranges, sequences, counting steps. */
import { family, span, total } from "./family.js";
import type { Family } from "./family.js";

type One = [number];

function collatzSteps(start: number): number {
  let steps = 0;
  for (let n = start; n > 1; steps++) n = n % 2 === 0 ? n / 2 : 3 * n + 1;
  return steps;
}

function fibonacci(index: number): number {
  let [previous, current] = [1, 0];
  for (let i = 0; i < index; i++) [previous, current] = [current, previous + current];
  return current;
}

/** The table of loops. */
export const LOOPS: Family[] = [
  family<One>({
    name: "factorial",
    inputs: ["integer"],
    asks: ["its factorial", "the product of the integers from one to it", "the factorial of it"],
    right: [
      "r = 1\nfor i in range(1, n + 1):\n    r *= i\nr",
      "r = 1\nwhile n > 1:\n    r *= n\n    n -= 1\nr",
    ],
    wrong: [
      "r = 1\nfor i in range(1, n + 1):\n    r += i\nr",
      "r = 1\nfor i in range(1, n):\n    r *= i\nr",
      "r = 0\nfor i in range(1, n + 1):\n    r *= i\nr",
    ],
    answer: ([n]) => span(1, n).reduce((product, i) => product * i, 1),
    edges: () => [[1], [5], [3]],
    bounds: [2, 10],
    callable: true,
  }),
  family<One>({
    name: "sum_up_to",
    inputs: ["integer"],
    asks: [
      "the sum of the integers from one to it",
      "the sum of all integers up to it",
      "what the numbers from one to it add up to",
    ],
    right: ["sum(range(1, n + 1))", "n * (n + 1) // 2"],
    wrong: ["sum(range(1, n))", "n * n // 2", "len(range(1, n + 1))"],
    answer: ([n]) => total(span(1, n)),
    edges: () => [[1], [100], [10]],
    callable: true,
    easy: true,
  }),
  family<One>({
    name: "fibonacci",
    inputs: ["integer"],
    asks: [
      "the Fibonacci number with that index",
      "the Fibonacci number at that place, counting from zero",
      "that term of the Fibonacci sequence",
    ],
    right: [
      "a, b = 0, 1\nfor _ in range(n):\n    a, b = b, a + b\na",
      "a, b = 0, 1\nwhile n:\n    a, b, n = b, a + b, n - 1\na",
    ],
    wrong: [
      "a, b = 0, 1\nfor _ in range(n):\n    a, b = a, a + b\na",
      "a, b = 0, 1\nfor _ in range(n):\n    a, b = b, a + b\nb",
      "a, b = 1, 1\nfor _ in range(n):\n    a, b = b, a + b\nb",
    ],
    answer: ([n]) => fibonacci(n),
    edges: () => [[3], [10], [7]],
    bounds: [4, 25],
  }),
  family<One>({
    name: "collatz",
    inputs: ["integer"],
    asks: [
      "how many Collatz steps lead to one",
      "the number of Collatz steps to one",
      "its Collatz step count",
    ],
    right: [
      "r = 0\nwhile n > 1:\n    n = 3 * n + 1 if n % 2 else n // 2\n    r += 1\nr",
      "r = 0\nwhile n != 1:\n    n = n // 2 if n % 2 == 0 else 3 * n + 1\n    r += 1\nr",
    ],
    wrong: [
      "r = 0\nwhile n > 1:\n    n = n // 2\n    r += 1\nr",
      "r = 1\nwhile n > 1:\n    n = 3 * n + 1 if n % 2 else n // 2\n    r += 1\nr",
      "r = 0\nwhile n > 1:\n    n = n // 2 if n % 2 == 0 else n - 1\n    r += 1\nr",
    ],
    answer: ([n]) => collatzSteps(n),
    edges: () => [[3], [6], [7]],
    bounds: [3, 30],
    transfer: true,
  }),
  family<One>({
    name: "halvings",
    inputs: ["integer"],
    asks: [
      "how often it can be halved, rounding down, until it is zero",
      "how many halvings, rounding down, bring it to zero",
      "the number of times it is halved until zero is left",
    ],
    right: [
      "r = 0\nwhile n > 0:\n    n //= 2\n    r += 1\nr",
      "r = 0\nwhile n:\n    n = n // 2\n    r += 1\nr",
    ],
    wrong: [
      "r = 0\nwhile n > 1:\n    n //= 2\n    r += 1\nr",
      "n // 2",
      "r = 0\nwhile n > 0:\n    n -= 2\n    r += 1\nr",
    ],
    answer: ([n]) => n.toString(2).length,
    edges: () => [[1], [8], [31]],
    bounds: [5, 900],
    transfer: true,
  }),
  family<One>({
    name: "sum_of_squares",
    inputs: ["integer"],
    asks: [
      "the sum of the squares from one to it",
      "the sum of all squares up to its square",
      "what the squares of one up to it add up to",
    ],
    right: [
      "sum(i * i for i in range(1, n + 1))",
      "r = 0\nfor i in range(1, n + 1):\n    r += i * i\nr",
    ],
    wrong: [
      "sum(i * 2 for i in range(1, n + 1))",
      "sum(i * i for i in range(1, n))",
      "sum(range(1, n + 1)) ** 2",
    ],
    answer: ([n]) => total(span(1, n).map((i) => i * i)),
    edges: () => [[2], [3], [10]],
    bounds: [2, 30],
    transfer: true,
  }),
  family<One>({
    name: "countdown",
    inputs: ["integer"],
    asks: [
      "the numbers from it down to one",
      "a countdown from it to one",
      "all integers from it down to one on one line",
    ],
    right: ["*range(n, 0, -1)", "*[i for i in range(n, 0, -1)]"],
    wrong: ["*range(1, n + 1)", "*range(n, 0)", "*range(n, 1, -1)"],
    answer: ([n]) => span(1, n).reverse(),
    edges: () => [[2], [5], [10]],
    bounds: [2, 12],
  }),
  family<One>({
    name: "multiples",
    inputs: ["integer"],
    asks: [
      "the multiples of {k} up to it",
      "all multiples of {k} that are not above it",
      "every multiple of {k} from {k} to it",
    ],
    right: ["*range({k}, n + 1, {k})", "*[i for i in range(1, n + 1) if i % {k} == 0]"],
    wrong: ["*range(1, n + 1, {k})", "*range({k}, n, {k})", "*range({k}, n + 1)"],
    answer: ([n], { n: k }) => span(1, n).filter((i) => i % k === 0),
    constant: { low: 2, high: 9 },
    edges: ({ n: k }) => [[3 * k], [2 * k + 1]],
    bounds: [10, 50],
    transfer: true,
  }),
  family<One>({
    name: "sum_of_evens",
    inputs: ["integer"],
    asks: [
      "the sum of the even numbers up to it",
      "the sum of all even integers not above it",
      "what the even numbers up to it add up to",
    ],
    right: ["sum(range(2, n + 1, 2))", "sum(i for i in range(n + 1) if i % 2 == 0)"],
    wrong: ["sum(range(1, n + 1, 2))", "sum(range(2, n, 2))", "sum(range(n + 1))"],
    answer: ([n]) => total(span(1, n).filter((i) => i % 2 === 0)),
    edges: () => [[2], [7], [10]],
    bounds: [3, 60],
    callable: true,
  }),
  family<One>({
    name: "power_of_two_below",
    inputs: ["integer"],
    asks: [
      "the largest power of two not above it",
      "the biggest power of two up to it",
      "the greatest power of two that is at most it",
    ],
    right: ["r = 1\nwhile r * 2 <= n:\n    r *= 2\nr", "r = 1\nwhile r <= n // 2:\n    r *= 2\nr"],
    wrong: [
      "r = 1\nwhile r <= n:\n    r *= 2\nr",
      "r = 1\nwhile r * 2 <= n:\n    r += 2\nr",
      "n // 2",
    ],
    answer: ([n]) => 2 ** (n.toString(2).length - 1),
    edges: () => [[1], [8], [15]],
    bounds: [3, 300],
    transfer: true,
  }),
];
