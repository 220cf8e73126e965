/** Families about divisors, primes and squares. */
import { countIf, family, span, total, yesNo } from "./family.js";
import type { Family } from "./family.js";

type One = [number];
type Two = [number, number];

const divisorsOf = (n: number) => span(1, n).filter((d) => n % d === 0);
const isPrime = (n: number) => divisorsOf(n).length === 2;
const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** The table of primes. */
export const PRIMES: Family[] = [
  family<One>({
    name: "prime",
    inputs: ["integer"],
    asks: [
      "yes if it is prime and no otherwise",
      "yes for a prime, else no",
      "yes if it is a prime number and no if not",
    ],
    right: [
      '"yes" if n > 1 and all(n % i for i in range(2, n)) else "no"',
      '"yes" if sum(n % i == 0 for i in range(1, n + 1)) == 2 else "no"',
    ],
    wrong: [
      '"no" if all(n % i for i in range(2, n)) else "yes"',
      '"yes" if n % 2 else "no"',
      '"yes" if any(n % i for i in range(2, n)) else "no"',
    ],
    answer: ([n]) => yesNo(isPrime(n)),
    edges: () => [[1], [2], [9], [13]],
    bounds: [2, 60],
  }),
  family<One>({
    name: "divisor_count",
    inputs: ["integer"],
    asks: ["the number of its divisors", "how many divisors it has", "its divisor count"],
    right: [
      "sum(n % i == 0 for i in range(1, n + 1))",
      "len([i for i in range(1, n + 1) if n % i == 0])",
    ],
    wrong: [
      "sum(n % i == 0 for i in range(1, n))",
      "sum(n % i for i in range(1, n + 1))",
      "n // 2",
    ],
    answer: ([n]) => divisorsOf(n).length,
    edges: () => [[1], [12], [13]],
    bounds: [2, 60],
    callable: true,
    transfer: true,
  }),
  family<One>({
    name: "divisor_sum",
    inputs: ["integer"],
    asks: ["the sum of its divisors", "what its divisors add up to", "its divisor sum"],
    right: [
      "sum(i for i in range(1, n + 1) if n % i == 0)",
      "r = 0\nfor i in range(1, n + 1):\n    if n % i == 0:\n        r += i\nr",
    ],
    wrong: [
      "sum(i for i in range(1, n) if n % i == 0)",
      "sum(n % i == 0 for i in range(1, n + 1))",
      "sum(range(1, n + 1))",
    ],
    answer: ([n]) => total(divisorsOf(n)),
    edges: () => [[1], [12], [13]],
    bounds: [2, 60],
    transfer: true,
  }),
  family<One>({
    name: "smallest_divisor",
    inputs: ["integer"],
    asks: [
      "its smallest divisor above one",
      "its smallest prime factor",
      "the least divisor of it that is more than one",
    ],
    right: ["i = 2\nwhile n % i:\n    i += 1\ni", "min(i for i in range(2, n + 1) if n % i == 0)"],
    wrong: [
      "i = 2\nwhile n % i == 0:\n    i += 1\ni",
      "min(i for i in range(1, n + 1) if n % i == 0)",
      "max(i for i in range(2, n + 1) if n % i == 0)",
    ],
    answer: ([n]) => divisorsOf(n)[1],
    edges: () => [[2], [35], [49], [29]],
    bounds: [2, 90],
  }),
  family<One>({
    name: "perfect_square",
    inputs: ["integer"],
    asks: [
      "yes if it is a perfect square and no otherwise",
      "yes for a square number, else no",
      "yes if it is the square of an integer and no if not",
    ],
    right: [
      '"yes" if int(n ** 0.5) ** 2 == n else "no"',
      '"yes" if any(i * i == n for i in range(n + 1)) else "no"',
    ],
    wrong: [
      '"yes" if n ** 2 == n else "no"',
      '"yes" if int(n ** 0.5) == n else "no"',
      '"yes" if n % 2 == 0 else "no"',
    ],
    answer: ([n]) => yesNo(Number.isInteger(Math.sqrt(n))),
    edges: () => [[49], [50], [16], [9]],
    bounds: [2, 100],
    transfer: true,
  }),
  family<Two>({
    name: "gcd",
    inputs: ["pair_line", "pair_lines"],
    asks: [
      "their greatest common divisor",
      "the largest number that divides both",
      "the greatest divisor they share",
    ],
    right: [
      "while b:\n    a, b = b, a % b\na",
      "max(i for i in range(1, a + 1) if a % i == b % i == 0)",
    ],
    wrong: ["min(a, b)", "while b:\n    a, b = b, a % b\nb", "max(a, b) - min(a, b)"],
    answer: ([a, b]) => gcd(a, b),
    edges: () => [
      [12, 18],
      [7, 5],
      [40, 16],
    ],
    bounds: [2, 60],
    callable: true,
  }),
  family<Two>({
    name: "lcm",
    inputs: ["pair_line", "pair_lines"],
    asks: [
      "their least common multiple",
      "the smallest number that both divide",
      "the least multiple they share",
    ],
    right: [
      "r = a\nwhile r % b:\n    r += a\nr",
      "min(i for i in range(a, a * b + 1) if i % a == i % b == 0)",
    ],
    wrong: ["a * b", "max(a, b)", "a * b // 2"],
    answer: ([a, b]) => (a * b) / gcd(a, b),
    edges: () => [
      [12, 18],
      [4, 6],
      [6, 9],
    ],
    bounds: [2, 20],
    transfer: true,
  }),
  family<One>({
    name: "primes_up_to",
    inputs: ["integer"],
    asks: [
      "the number of primes up to it",
      "how many primes are not above it",
      "the count of primes up to it",
    ],
    right: [
      "sum(all(i % j for j in range(2, i)) for i in range(2, n + 1))",
      "len([i for i in range(2, n + 1) if all(i % j for j in range(2, i))])",
    ],
    wrong: [
      "sum(all(i % j for j in range(2, i)) for i in range(n))",
      "n // 2",
      "sum(n % i for i in range(2, n + 1))",
    ],
    answer: ([n]) => countIf(span(1, n), isPrime),
    edges: () => [[1], [2], [13], [20]],
    bounds: [2, 40],
    transfer: true,
  }),
];
