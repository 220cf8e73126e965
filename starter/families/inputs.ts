/**
 * The ways a program may be given its input: how the statement describes it, how programs read it,
 * how beginners read it wrongly, and how values are drawn and written down.
 */
import type { RandomStream } from "../../src/core/random.js";
import type { Value } from "./family.js";

/** One way of giving input. */
export interface InputKind {
  /** Wordings that follow `Read` or `The input is`. */
  descriptions: string[];
  /** Right ways to read it, as lines of Python. */
  reads: string[];
  /** Wrong ways to read it. */
  badReads: string[];
  /** Names of the values in programs, and of the parameters where a function is asked for. */
  names: string[];
  /** Values for one test; integers stay within `bounds`, edges may pass them. */
  draw: (random: RandomStream, bounds: [number, number] | undefined) => Value[];
  /** The values as the text of standard input, without the last newline. */
  write: (values: Value[]) => string;
}

const WORDS = (
  "red apple tree house orange blue sky under idea code test union river umbrella stone echo " +
  "noon level Paris Anna moon deed radar Oslo green lamp"
).split(" ");

const pick = <T>(random: RandomStream, items: readonly T[]) => items[random.integer(items.length)];
const between = (random: RandomStream, [low, high]: [number, number]) =>
  low + random.integer(high - low + 1);

const drawIntegers =
  (count: number, standard: [number, number]) =>
  (random: RandomStream, bounds: [number, number] = standard): Value[] =>
    Array.from({ length: count }, () => between(random, bounds));

const drawList = (random: RandomStream, bounds: [number, number] = [1, 40]): Value[] => {
  const list = Array.from({ length: 4 + random.integer(4) }, () => between(random, bounds));
  list.push(pick(random, list));
  return [random.shuffle(list)];
};

const drawMatrix = (random: RandomStream, bounds: [number, number] = [0, 9]): Value[] => {
  const size = 2 + random.integer(2);
  return [drawRows(random, size, bounds)];
};

function drawRows(random: RandomStream, size: number, bounds: [number, number]): number[][] {
  const rows = Array.from({ length: size }, () =>
    Array.from({ length: size }, () => between(random, bounds)),
  );
  // One matrix in two mirrors its upper half, so that symmetry is no rarity.
  if (random.integer(2) === 0) {
    rows.forEach((row, i) =>
      row.forEach(
        (_, j) => (rows[Math.max(i, j)][Math.min(i, j)] = rows[Math.min(i, j)][Math.max(i, j)]),
      ),
    );
  }
  return rows;
}

const onOneLine = (values: Value[]) => values.join(" ");
const onLines = (values: Value[]) => values.join("\n");
const listLine = ([list]: Value[]) => (list as number[]).join(" ");

/** Every input kind by name. */
export const INPUTS = {
  pair_line: {
    descriptions: [
      "two integers on one line",
      "two integers a and b on one line",
      "two numbers on a single line",
    ],
    reads: ["a, b = map(int, input().split())", "a, b = [int(x) for x in input().split()]"],
    badReads: ["a = int(input())\nb = int(input())", "a, b = int(input())"],
    names: ["a", "b"],
    draw: drawIntegers(2, [-9, 30]),
    write: onOneLine,
  },
  pair_lines: {
    descriptions: [
      "two integers on two lines",
      "two integers, one per line",
      "two numbers on separate lines",
    ],
    reads: ["a = int(input())\nb = int(input())", "a, b = int(input()), int(input())"],
    badReads: ["a, b = map(int, input().split())", "a, b = int(input())"],
    names: ["a", "b"],
    draw: drawIntegers(2, [-9, 30]),
    write: onLines,
  },
  triple: {
    descriptions: [
      "three integers on one line",
      "three numbers on a single line",
      "three integers a, b and c on one line",
    ],
    reads: ["a, b, c = map(int, input().split())", "a, b, c = [int(x) for x in input().split()]"],
    badReads: ["a, b, c = int(input())", "a, b = map(int, input().split())\nc = int(input())"],
    names: ["a", "b", "c"],
    draw: drawIntegers(3, [1, 20]),
    write: onOneLine,
  },
  integer: {
    descriptions: ["an integer", "one integer n", "a whole number n", "a single number"],
    reads: ["n = int(input())", "n = int(input().strip())"],
    badReads: ["n = int(input().split())", "n = int(input())[0]"],
    names: ["n"],
    draw: drawIntegers(1, [1, 99]),
    write: onOneLine,
  },
  text: {
    descriptions: ["a line of text", "a string s", "one line s", "some text on one line"],
    reads: ["s = input()", "s = input().rstrip()"],
    badReads: ["s = int(input())", "s = float(input())"],
    names: ["s"],
    draw: (random) => [
      Array.from({ length: 2 + random.integer(3) }, () => pick(random, WORDS)).join(" "),
    ],
    write: onOneLine,
  },
  word: {
    descriptions: ["a word", "one word s", "a single word"],
    reads: ["s = input()", "s = input().strip()"],
    badReads: ["s = int(input())", "s = float(input())"],
    names: ["s"],
    draw: (random) => [pick(random, WORDS)],
    write: onOneLine,
  },
  list: {
    descriptions: [
      "a line of integers",
      "several integers on one line",
      "a list of numbers on one line",
    ],
    reads: ["a = list(map(int, input().split()))", "a = [int(x) for x in input().split()]"],
    badReads: ["a = int(input())", "a = list(map(int, input()))"],
    names: ["a"],
    draw: drawList,
    write: listLine,
  },
  counted_list: {
    descriptions: [
      "a count n and then n integers on the next line",
      "n and, on the next line, n integers",
    ],
    reads: [
      "n = int(input())\na = list(map(int, input().split()))",
      "input()\na = [int(x) for x in input().split()]",
    ],
    badReads: ["a = int(input())", "n = int(input())\na = [int(input()) for _ in range(n)]"],
    names: ["a"],
    draw: drawList,
    write: ([list]) => `${(list as number[]).length}\n${listLine([list])}`,
  },
  matrix: {
    descriptions: [
      "a size n and then n rows of n integers",
      "n and then a square of n lines of integers",
    ],
    reads: [
      "n = int(input())\nm = [list(map(int, input().split())) for _ in range(n)]",
      "n = int(input())\nm = [[int(x) for x in input().split()] for _ in range(n)]",
    ],
    badReads: [
      "n = int(input())\nm = list(map(int, input().split()))",
      "n = int(input())\nm = [int(input()) for _ in range(n)]",
    ],
    names: ["m"],
    draw: drawMatrix,
    write: ([rows]) =>
      [(rows as number[][]).length, ...(rows as number[][]).map((row) => row.join(" "))].join("\n"),
  },
  clock: {
    descriptions: [
      "a time such as 7:45",
      "a time of day like 7:45",
      "hours and minutes such as 7:45",
    ],
    reads: ['h, m = map(int, input().split(":"))', 'h, m = [int(x) for x in input().split(":")]'],
    badReads: ["h, m = map(int, input().split())", 'h, m = input().split(":")'],
    names: ["h", "m"],
    draw: (random) => [random.integer(24), random.integer(60)],
    write: ([hours, minutes]) => `${hours}:${String(minutes).padStart(2, "0")}`,
  },
  commas: {
    descriptions: [
      "integers separated by commas",
      "a line of integers with commas",
      "numbers such as 4,8,15",
    ],
    reads: ['a = list(map(int, input().split(",")))', 'a = [int(x) for x in input().split(",")]'],
    badReads: ["a = list(map(int, input().split()))", "a = int(input())"],
    names: ["a"],
    draw: drawList,
    write: ([list]) => (list as number[]).join(","),
  },
  plus: {
    descriptions: [
      "an expression such as 3+4",
      "a sum like 3+4",
      "two integers with a plus between",
    ],
    reads: ['a, b = map(int, input().split("+"))', 'a, b = [int(x) for x in input().split("+")]'],
    badReads: ["a, b = map(int, input().split())", 'a, b = input().split("+")'],
    names: ["a", "b"],
    draw: drawIntegers(2, [1, 40]),
    write: (values) => values.join("+"),
  },
  interval: {
    descriptions: ["a range such as 3-9", "a range of pages like 3-9"],
    reads: ['a, b = map(int, input().split("-"))', 'a, b = [int(x) for x in input().split("-")]'],
    badReads: ["a, b = map(int, input().split())", 'a, b = input().split("-")'],
    names: ["a", "b"],
    draw: (random) => {
      const first = 1 + random.integer(30);
      return [first, first + random.integer(30)];
    },
    write: (values) => values.join("-"),
  },
  bits: {
    descriptions: ["a binary number", "a string s of zeros and ones", "a number in binary"],
    reads: ["s = input()", "s = input().strip()"],
    badReads: ["s = float(input())", "s = input()[0]"],
    names: ["s"],
    draw: (random) => [(2 + random.integer(60)).toString(2)],
    write: onOneLine,
  },
} satisfies Record<string, InputKind>;

/** The name of an input kind. */
export type InputName = keyof typeof INPUTS;
