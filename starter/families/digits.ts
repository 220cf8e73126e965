/** Families about the decimal digits of a positive integer. */
import { countIf, family, total, yesNo } from "./family.js";
import type { Family } from "./family.js";

type One = [number];

const digitsOf = (n: number) => [...String(n)].map(Number);

/** The table of digits. */
export const DIGITS: Family[] = [
  family<One>({
    name: "digit_sum",
    inputs: ["integer"],
    asks: ["the sum of its digits", "its digit sum", "what its digits add up to"],
    right: ["sum(int(c) for c in str(n))", "r = 0\nwhile n:\n    r += n % 10\n    n //= 10\nr"],
    wrong: [
      "len(str(n))",
      "sum(c for c in str(n))",
      "r = 0\nwhile n:\n    r += n\n    n //= 10\nr",
    ],
    answer: ([n]) => total(digitsOf(n)),
    edges: () => [[999], [100], [7]],
    bounds: [10, 99999],
    callable: true,
  }),
  family<One>({
    name: "digit_count",
    inputs: ["integer"],
    asks: ["the number of its digits", "how many digits it has", "its digit count"],
    right: ["len(str(n))", "sum(1 for c in str(n))"],
    wrong: ["n // 10", "len(str(n)) - 1", "len(n)"],
    answer: ([n]) => digitsOf(n).length,
    edges: () => [[9], [10], [100000]],
    bounds: [10, 99999],
    easy: true,
  }),
  family<One>({
    name: "digits_reversed",
    inputs: ["integer"],
    asks: [
      "the number with its digits in reverse order",
      "it with the digits reversed",
      "the number that its digits make backwards",
    ],
    right: ["int(str(n)[::-1])", "r = 0\nwhile n:\n    r = r * 10 + n % 10\n    n //= 10\nr"],
    wrong: ["str(n)[::1]", "str(n)[::-1]", "-n"],
    answer: ([n]) => Number(digitsOf(n).reverse().join("")),
    edges: () => [[120], [31], [5000]],
    bounds: [10, 99999],
    transfer: true,
  }),
  family<One>({
    name: "largest_digit",
    inputs: ["integer"],
    asks: ["its largest digit", "the biggest of its digits", "the highest digit in it"],
    right: ["max(str(n))", "max(int(c) for c in str(n))"],
    wrong: ["min(str(n))", "max(n)", "str(n)[0]"],
    answer: ([n]) => Math.max(...digitsOf(n)),
    edges: () => [[190], [901], [419]],
    bounds: [10, 99999],
  }),
  family<One>({
    name: "last_digit",
    inputs: ["integer"],
    asks: ["its last digit", "the digit it ends with", "its final digit"],
    right: ["n % 10", "str(n)[-1]"],
    wrong: ["n // 10", "str(n)[0]", "n % 2"],
    answer: ([n]) => n % 10,
    edges: () => [[30], [7], [123]],
    bounds: [10, 9999],
  }),
  family<One>({
    name: "first_digit",
    inputs: ["integer"],
    asks: ["its first digit", "the digit it begins with", "its leading digit"],
    right: ["str(n)[0]", "while n > 9:\n    n //= 10\nn"],
    wrong: ["str(n)[-1]", "n // 10", "str(n)[1]"],
    answer: ([n]) => digitsOf(n)[0],
    edges: () => [[7], [30], [123]],
    bounds: [10, 9999],
    transfer: true,
  }),
  family<One>({
    name: "number_palindrome",
    inputs: ["integer"],
    asks: [
      "yes if its digits read the same backwards and no otherwise",
      "yes if it is a palindrome, else no",
      "yes if the number is a palindrome and no if not",
    ],
    right: [
      '"yes" if str(n) == str(n)[::-1] else "no"',
      's = str(n)\n"yes" if s == s[::-1] else "no"',
    ],
    wrong: [
      '"yes" if str(n) != str(n)[::-1] else "no"',
      '"yes" if n == str(n)[::-1] else "no"',
      '"yes" if n % 11 == 0 else "no"',
    ],
    answer: ([n]) => yesNo(digitsOf(n).join() === digitsOf(n).reverse().join()),
    edges: () => [[121], [122], [7], [131], [110]],
    bounds: [10, 999],
  }),
  family<One>({
    name: "even_digits",
    inputs: ["integer"],
    asks: [
      "how many of its digits are even",
      "the number of its even digits",
      "the count of even digits in it",
    ],
    right: ["sum(int(c) % 2 == 0 for c in str(n))", 'sum(c in "02468" for c in str(n))'],
    wrong: ["sum(int(c) % 2 for c in str(n))", "n % 2 == 0", "len(str(n))"],
    answer: ([n]) => countIf(digitsOf(n), (digit) => digit % 2 === 0),
    edges: () => [[2048], [135], [1200]],
    bounds: [10, 99999],
    transfer: true,
  }),
  family<One>({
    name: "digit_occurrences",
    inputs: ["integer"],
    asks: [
      "how often the digit {k} is in it",
      "how many of its digits are {k}",
      "the number of times {k} occurs in its digits",
    ],
    right: ['str(n).count("{k}")', 'sum(c == "{k}" for c in str(n))'],
    wrong: ['sum(c != "{k}" for c in str(n))', "str(n).count({k})", "n % {k}"],
    answer: ([n], { n: k }) => countIf(digitsOf(n), (digit) => digit === k),
    constant: { low: 2, high: 9 },
    edges: ({ n: k }) => [[100 * k + k], [10 * k + 1], [1010]],
    bounds: [10, 99999],
    transfer: true,
  }),
];
