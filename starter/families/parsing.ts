/** Families that take text apart: separators, clocks, number systems. */
import { family, total } from "./family.js";
import type { Family } from "./family.js";

type One = [number];
type Two = [number, number];
type Text = [string];
type List = [number[]];

/** The table of parsing. */
export const PARSING: Family[] = [
  family<Two>({
    name: "plus_value",
    inputs: ["plus"],
    asks: ["its value", "what it comes to", "the value of it"],
    right: ["a + b", "sum([a, b])"],
    wrong: ["a - b", "a * b", "a"],
    answer: ([a, b]) => a + b,
    edges: () => [
      [3, 4],
      [10, 1],
    ],
  }),
  family<Two>({
    name: "minutes_of_day",
    inputs: ["clock"],
    asks: [
      "the minutes since midnight",
      "how many minutes have passed since midnight",
      "the minutes of the day up to then",
    ],
    right: ["h * 60 + m", "m + 60 * h"],
    wrong: ["h + m * 60", "h * 100 + m", "h * 60"],
    answer: ([hours, minutes]) => hours * 60 + minutes,
    edges: () => [
      [0, 0],
      [7, 45],
      [23, 59],
    ],
  }),
  family<Two>({
    name: "minutes_left",
    inputs: ["clock"],
    asks: [
      "the minutes left until midnight",
      "how many minutes of the day are left",
      "the minutes that the day still has",
    ],
    right: ["1440 - h * 60 - m", "24 * 60 - (h * 60 + m)"],
    wrong: ["h * 60 + m", "1440 - h * 60 + m", "24 - h * 60 - m"],
    answer: ([hours, minutes]) => 1440 - hours * 60 - minutes,
    edges: () => [
      [7, 45],
      [23, 59],
      [12, 30],
    ],
    transfer: true,
  }),
  family<List>({
    name: "comma_sum",
    inputs: ["commas"],
    asks: ["their sum", "their total", "what they add up to"],
    right: ["sum(a)", "r = 0\nfor x in a:\n    r += x\nr"],
    wrong: ["len(a)", "max(a)", "sum(a[1:])"],
    answer: ([a]) => total(a),
    edges: () => [[[4, 8, 15]], [[7]]],
    transfer: true,
  }),
  family<List>({
    name: "comma_max",
    inputs: ["commas"],
    asks: ["the largest", "their maximum", "the largest of them"],
    right: ["max(a)", "sorted(a)[-1]"],
    wrong: ["min(a)", "a[-1]", "a[0]"],
    answer: ([a]) => Math.max(...a),
    edges: () => [[[4, 15, 8]], [[9, 10, 2]]],
    transfer: true,
  }),
  family<Two>({
    name: "interval_length",
    inputs: ["interval"],
    asks: [
      "how many integers it holds, both ends included",
      "the number of pages in it, both ends included",
      "its size, both ends included",
    ],
    right: ["b - a + 1", "len(range(a, b + 1))"],
    wrong: ["b - a", "a - b", "a + b"],
    answer: ([a, b]) => b - a + 1,
    edges: () => [
      [3, 9],
      [5, 5],
    ],
  }),
  family<Text>({
    name: "binary_value",
    inputs: ["bits"],
    asks: ["its value in decimal", "it as a decimal number", "the decimal number it stands for"],
    right: ["int(s, 2)", "r = 0\nfor c in s:\n    r = r * 2 + int(c)\nr"],
    wrong: ["int(s)", "int(s, 10)", 's.count("1")'],
    answer: ([s]) => parseInt(s, 2),
    edges: () => [["10"], ["1011"], ["111"]],
    callable: true,
  }),
  family<One>({
    name: "to_binary",
    inputs: ["integer"],
    asks: ["it in binary", "its binary digits", "it as a binary number"],
    right: ["bin(n)[2:]", 'f"{n:b}"'],
    wrong: ["bin(n)", "int(n, 2)", "n % 2"],
    answer: ([n]) => n.toString(2),
    edges: () => [[2], [5], [64]],
    transfer: true,
  }),
  family<Text>({
    name: "ones_in_binary",
    inputs: ["bits"],
    asks: ["how many ones it has", "the number of ones in it", "its count of ones"],
    right: ['s.count("1")', 'sum(c == "1" for c in s)'],
    wrong: ["s.count(1)", "len(s)", 's.count("0")'],
    answer: ([s]) => [...s].filter((bit) => bit === "1").length,
    edges: () => [["10"], ["11011"], ["111"]],
    transfer: true,
  }),
];
