/** Families on words and lines of text. */
import { family, yesNo } from "./family.js";
import type { Family } from "./family.js";

type Text = [string];

const backwards = (text: string) => [...text].reverse().join("");
const capitalised = (word: string) => word[0].toUpperCase() + word.slice(1).toLowerCase();

/** The table of strings. */
export const STRINGS: Family[] = [
  family<Text>({
    name: "reversed",
    inputs: ["text", "word"],
    asks: ["it backwards", "it reversed", "its characters in reverse order", "the reverse of it"],
    right: ["s[::-1]", '"".join(reversed(s))'],
    wrong: ["s[::1]", "reversed(s)", "s[:-1]"],
    answer: ([s]) => backwards(s),
    callable: true,
    easy: true,
  }),
  family<Text>({
    name: "upper",
    inputs: ["text", "word"],
    asks: ["it in upper case", "it in capital letters", "it with all letters capital"],
    right: ["s.upper()", '"".join(c.upper() for c in s)'],
    wrong: ["s.lower()", "s.title()", "s.upper"],
    answer: ([s]) => s.toUpperCase(),
    callable: true,
    easy: true,
  }),
  family<Text>({
    name: "length",
    inputs: ["text", "word"],
    asks: [
      "its length",
      "the number of its characters",
      "how long it is",
      "how many characters it has",
    ],
    right: ["len(s)", "sum(1 for c in s)"],
    wrong: ["len(s) - 1", "len(s.split())", "s.len()"],
    answer: ([s]) => s.length,
    callable: true,
  }),
  family<Text>({
    name: "initials",
    inputs: ["text"],
    asks: [
      "the first letters of its words",
      "its initials without blanks",
      "the first letter of each word, joined",
    ],
    right: ['"".join(w[0] for w in s.split())', 'r = ""\nfor w in s.split():\n    r += w[0]\nr'],
    wrong: ["s[0]", '"".join(w[-1] for w in s.split())', "[w[0] for w in s.split()]"],
    answer: ([s]) =>
      s
        .split(" ")
        .map((word) => word[0])
        .join(""),
    transfer: true,
  }),
  family<Text>({
    name: "longest_word",
    inputs: ["text"],
    asks: [
      "its longest word",
      "the longest of its words, the first if several",
      "the word with the most letters, the first if several",
    ],
    right: ["max(s.split(), key=len)", "sorted(s.split(), key=len, reverse=True)[0]"],
    wrong: ["min(s.split(), key=len)", "max(s.split())", "s.split()[0]"],
    answer: ([s]) => s.split(" ").reduce((best, word) => (word.length > best.length ? word : best)),
    edges: () => [["red union sky"], ["umbrella tree"], ["tree orange sky"]],
    transfer: true,
  }),
  family<Text>({
    name: "without_blanks",
    inputs: ["text"],
    asks: ["it without blanks", "it with all blanks removed", "it without its spaces"],
    right: ['s.replace(" ", "")', '"".join(s.split())'],
    wrong: ["s.strip()", 's.replace("", " ")', "s.split()"],
    answer: ([s]) => s.replaceAll(" ", ""),
    callable: true,
  }),
  family<Text>({
    name: "dashed",
    inputs: ["text"],
    asks: [
      "it with a dash for each blank",
      "its words joined by dashes",
      "it with dashes in place of blanks",
    ],
    right: ['s.replace(" ", "-")', '"-".join(s.split())'],
    wrong: ['"-".join(s)', 's.replace("-", " ")', 's + "-"'],
    answer: ([s]) => s.replaceAll(" ", "-"),
    transfer: true,
  }),
  family<Text>({
    name: "repeated",
    inputs: ["word"],
    asks: [
      "it {k} times in a row",
      "it repeated {k} times without blanks",
      "{k} copies of it joined",
    ],
    right: ["s * {k}", '"".join([s] * {k})'],
    wrong: ["s + {k}", 's + "{k}"', "[s] * {k}"],
    answer: ([s], { n: k }) => s.repeat(k),
    constant: { low: 2, high: 9 },
    callable: true,
  }),
  family<Text>({
    name: "first_characters",
    inputs: ["text"],
    asks: [
      "its first {k} characters",
      "the first {k} characters of it",
      "its beginning of {k} characters",
    ],
    right: ["s[:{k}]", '"".join(s[i] for i in range({k}))'],
    wrong: ["s[{k}:]", "s[{k}]", "s[:-{k}]"],
    answer: ([s], { n: k }) => s.slice(0, k),
    constant: { low: 2, high: 6 },
    edges: () => [["umbrella"], ["orange test"], ["river code sky"]],
  }),
  family<Text>({
    name: "word_palindrome",
    inputs: ["word"],
    asks: [
      "yes if it reads the same backwards and no otherwise",
      "yes if it is a palindrome, else no",
      "yes if the word is a palindrome and no if not",
    ],
    right: ['"yes" if s == s[::-1] else "no"', '"no" if s != s[::-1] else "yes"'],
    wrong: [
      '"yes" if s != s[::-1] else "no"',
      '"yes" if s == reversed(s) else "no"',
      '"yes" if s[0] == s[1] else "no"',
    ],
    answer: ([s]) => yesNo(s === backwards(s)),
    edges: () => [["noon"], ["moon"], ["level"], ["stone"]],
    callable: true,
    transfer: true,
  }),
  family<Text>({
    name: "sorted_letters",
    inputs: ["word"],
    asks: ["its letters in sorted order", "its letters sorted", "the letters of it in order"],
    right: ['"".join(sorted(s))', 'r = ""\nfor c in sorted(s):\n    r += c\nr'],
    wrong: ["sorted(s)", "s.sort()", '"".join(set(s))'],
    answer: ([s]) => [...s].sort((x, y) => (x < y ? -1 : 1)).join(""),
    edges: () => [["stone"], ["umbrella"], ["apple"]],
    transfer: true,
  }),
  family<Text>({
    name: "titled",
    inputs: ["text"],
    asks: [
      "it with each word capitalised",
      "it with a capital at the start of each word",
      "it in title case",
    ],
    right: ["s.title()", '" ".join(w.capitalize() for w in s.split())'],
    wrong: ["s.upper()", "s.capitalize()", "s.title"],
    answer: ([s]) => s.split(" ").map(capitalised).join(" "),
    edges: () => [["red sky"], ["blue apple tree"]],
    transfer: true,
  }),
  family<Text>({
    name: "last_word",
    inputs: ["text"],
    asks: ["its last word", "the word it ends with", "its final word"],
    right: ["s.split()[-1]", 's[s.rfind(" ") + 1:]'],
    wrong: ["s.split()[0]", "s[-1]", "s.split(-1)"],
    answer: ([s]) => s.split(" ").at(-1)!,
    edges: () => [["red sky"], ["blue apple tree"]],
  }),
  family<Text>({
    name: "middle_character",
    inputs: ["word"],
    asks: [
      "its middle character, the right one of two",
      "the character in the middle of it, the right one of two",
      "its central character, the right one of two",
    ],
    right: ["s[len(s) // 2]", "s[len(s) // 2:][0]"],
    wrong: ["s[len(s) / 2]", "s[1]", "s[len(s) // 2 - 1]"],
    answer: ([s]) => s[Math.floor(s.length / 2)],
    edges: () => [["apple"], ["stone"], ["union"]],
    transfer: true,
  }),
];
