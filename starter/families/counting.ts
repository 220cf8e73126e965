/** Families that count in texts and lists. */
import { countIf, family } from "./family.js";
import type { Family } from "./family.js";

type Text = [string];
type List = [number[]];

const isVowel = (letter: string) => "aeiou".includes(letter);

/** The table of counting. */
export const COUNTING: Family[] = [
  family<Text>({
    name: "vowels",
    inputs: ["text", "word"],
    asks: [
      "the number of its small vowels",
      "how many small vowels it has",
      "its count of small vowels",
    ],
    right: ['sum(c in "aeiou" for c in s)', 'len([c for c in s if c in "aeiou"])'],
    wrong: ['sum(c not in "aeiou" for c in s)', 's.count("aeiou")', "len(s)"],
    answer: ([s]) => countIf([...s], isVowel),
    edges: () => [["sky"], ["umbrella union"]],
    callable: true,
  }),
  family<Text>({
    name: "consonants",
    inputs: ["word"],
    asks: [
      "the number of its letters that are no small vowels",
      "how many letters of it are no small vowels",
      "its letter count without small vowels",
    ],
    right: ['sum(c not in "aeiou" for c in s)', 'len([c for c in s if c not in "aeiou"])'],
    wrong: ['sum(c in "aeiou" for c in s)', "len(s)", "len(s) // 2"],
    answer: ([s]) => countIf([...s], (letter) => !isVowel(letter)),
    edges: () => [["sky"], ["umbrella"], ["stone"]],
    transfer: true,
  }),
  family<Text>({
    name: "words",
    inputs: ["text"],
    asks: ["the number of words", "how many words it has", "its word count"],
    right: ["len(s.split())", 's.count(" ") + 1'],
    wrong: ["len(s)", 's.count(" ")', "s.split()"],
    answer: ([s]) => s.split(" ").length,
    edges: () => [["sky"], ["red tree sky"]],
    easy: true,
  }),
  family<Text>({
    name: "letter_occurrences",
    inputs: ["text", "word"],
    asks: [
      "how often the letter {k} is in it",
      "the number of letters {k} in it",
      "how many times {k} occurs in it",
    ],
    right: ['s.count("{k}")', 'sum(c == "{k}" for c in s)'],
    wrong: ['s.find("{k}")', "s.count({k})", 'sum(c != "{k}" for c in s)'],
    answer: ([s], { text }) => countIf([...s], (letter) => letter === text),
    constant: { letters: "aelnortu" },
    edges: ({ text }) => [[`${text}${text}x${text}`], ["sky"]],
    callable: true,
  }),
  family<Text>({
    name: "capitals",
    inputs: ["text"],
    asks: [
      "the number of its capital letters",
      "how many capital letters it has",
      "its count of capitals",
    ],
    right: ["sum(c.isupper() for c in s)", "len([c for c in s if c.isupper()])"],
    wrong: ["sum(c.islower() for c in s)", "s.isupper()", "s.count(s.upper())"],
    answer: ([s]) => countIf([...s], (letter) => letter >= "A" && letter <= "Z"),
    edges: () => [["Paris Anna Oslo"], ["red sky"]],
    transfer: true,
  }),
  family<Text>({
    name: "distinct_letters",
    inputs: ["word"],
    asks: [
      "how many different letters it has",
      "the number of its distinct letters",
      "its count of different letters",
    ],
    right: ["len(set(s))", "len({c for c in s})"],
    wrong: ["len(s)", "set(s)", "s.count(s)"],
    answer: ([s]) => new Set(s).size,
    edges: () => [["noon"], ["apple"], ["umbrella"]],
    callable: true,
    transfer: true,
  }),
  family<List>({
    name: "count_above",
    inputs: ["list", "counted_list"],
    asks: [
      "how many are greater than {k}",
      "how many of them are above {k}",
      "the count of values over {k}",
    ],
    right: ["sum(x > {k} for x in a)", "len([x for x in a if x > {k}])"],
    wrong: ["sum(x < {k} for x in a)", "sum(x >= {k} for x in a)", "sum(x for x in a if x > {k})"],
    answer: ([a], { n: k }) => countIf(a, (x) => x > k),
    constant: { low: 5, high: 30 },
    edges: ({ n: k }) => [[[k, k + 1, k + 2, 1]], [[k, k, k]]],
    callable: true,
  }),
  family<List>({
    name: "count_equal",
    inputs: ["list", "counted_list"],
    asks: [
      "how many of them are equal to {k}",
      "how often {k} is among them",
      "the number of values that are {k}",
    ],
    right: ["a.count({k})", "sum(x == {k} for x in a)"],
    wrong: ["sum(x != {k} for x in a)", "a.index({k})", 'a.count("{k}")'],
    answer: ([a], { n: k }) => countIf(a, (x) => x === k),
    constant: { low: 2, high: 30 },
    edges: ({ n: k }) => [[[1, k, 2, k]], [[k]], [[k, k, 1, k]]],
  }),
  family<List>({
    name: "distinct_numbers",
    inputs: ["list", "counted_list"],
    asks: [
      "how many different values there are",
      "the number of distinct values",
      "the count of different numbers",
    ],
    right: ["len(set(a))", "len({x for x in a})"],
    wrong: ["len(a)", "set(a)", "max(a) - min(a)"],
    answer: ([a]) => new Set(a).size,
    edges: () => [[[4, 4, 4]], [[1, 2, 1, 2, 3]]],
    callable: true,
  }),
  family<List>({
    name: "count_even",
    inputs: ["list"],
    asks: ["how many of them are even", "the number of even values", "the count of even ones"],
    right: ["sum(x % 2 == 0 for x in a)", "len([x for x in a if x % 2 == 0])"],
    wrong: ["sum(x % 2 for x in a)", "sum(x for x in a if x % 2 == 0)", "len(a) // 2"],
    answer: ([a]) => countIf(a, (x) => x % 2 === 0),
    edges: () => [[[2, 4, 6, 1]], [[3, 5, 7]]],
    callable: true,
    transfer: true,
  }),
  family<List>({
    name: "most_common",
    inputs: ["list"],
    asks: [
      "the value that occurs most, the first if several",
      "the most common value, the first if several",
      "the first of the most frequent values",
    ],
    right: ["max(a, key=a.count)", "sorted(a, key=a.count, reverse=True)[0]"],
    wrong: ["max(a)", "min(a, key=a.count)", "a.count(max(a))"],
    answer: ([a]) => {
      const counts = a.map((x) => countIf(a, (y) => y === x));
      return a[counts.indexOf(Math.max(...counts))];
    },
    edges: () => [[[3, 9, 3, 1]], [[8, 2, 2, 5, 9]]],
    transfer: true,
  }),
];
