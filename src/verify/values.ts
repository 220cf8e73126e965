/**
 * Values that travel to and from a program under test, in the tagged form of
 * python/sandbox/calls.py, and the judge's own comparison of a result with its expectation.
 *
 * Equality follows Python's where Python's is safe: tuple and list are one kind of sequence, an
 * integer equals a float of exactly that value, text is exact, order and repetition count. A float
 * expectation has a tolerance of 1e-6, absolute or relative; an integer has none. True is not 1,
 * except in compatibility modes. Keys of objects that are integers equal their text, since JSON
 * has no other way to write them.
 */
import { type Json, JsonNumber } from "../formats/lossless-json.js";
import { matchesInAnyOrder } from "./any-order.js";
import { doubleOf, keyText, plainInteger, type Tagged, type ValueRule } from "./tagged.js";

export type { Tagged, ValueRule } from "./tagged.js";

/** Encodes a JSON value; `integerKeys` turns keys such as "12" into integers. */
export function encodeValue(value: Json, integerKeys: boolean): Tagged {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return `s${value}`;
  if (value instanceof JsonNumber) return encodeNumber(value);
  if (Array.isArray(value)) return ["l", ...value.map((item) => encodeValue(item, integerKeys))];
  const pairs = [...value].map(([key, item]): Tagged => [
    integerKeys && isIntegerKey(key) ? `i${key}` : `s${key}`,
    encodeValue(item, integerKeys),
  ]);
  return ["d", ...pairs];
}

/** Says whether some object in the value has a key that reads as an integer. */
export function hasIntegerKeys(value: Json): boolean {
  if (Array.isArray(value)) return value.some(hasIntegerKeys);
  if (!(value instanceof Map)) return false;
  return [...value].some(([key, item]) => isIntegerKey(key) || hasIntegerKeys(item));
}

/** Why a result is not the expected one; null when it is. */
export function differenceOf(actual: Tagged, expected: Json, rule: ValueRule): string | null {
  const stranger = findObject(actual);
  if (stranger !== null)
    return `result holds an object of type ${stranger}, which is no plain value`;
  return isEqual(actual, expected, rule, true) ? null : "result differs";
}

/** The type name of an object that stayed with the program, if the value holds one. */
export function findObject(value: Tagged): string | null {
  const stack: Tagged[] = [value];
  while (stack.length > 0) {
    const node = stack.pop()!;
    if (!Array.isArray(node)) continue;
    if (node[0] === "o") return String(node[3]);
    if (node[0] === "N") return "type";
    for (const item of node.slice(1)) stack.push(item);
  }
  return null;
}

/** Writes a value as Python would, for people; `limit` is a number of characters. */
export function showValue(value: Tagged, limit = 2000): string {
  const text = show(value, limit);
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

function encodeNumber({ text, isInteger }: JsonNumber): string {
  if (isInteger) return `i${text}`;
  if (text === "NaN") return "fnan";
  return text.endsWith("Infinity") ? (text.startsWith("-") ? "f-inf" : "finf") : `f${text}`;
}

function isIntegerKey(key: string): boolean {
  return /^-?(?:0|[1-9]\d*)$/.test(key);
}

function isEqual(actual: Tagged, expected: Json, rule: ValueRule, isTop: boolean): boolean {
  if (expected === null) return actual === null;
  if (typeof expected === "boolean") {
    if (typeof actual === "boolean") return actual === expected;
    return rule.isPythonEqual && isNumber(actual, new JsonNumber(expected ? "1" : "0"), rule);
  }
  if (typeof expected === "string") return actual === `s${expected}`;
  if (expected instanceof JsonNumber) return isNumber(actual, expected, rule);
  if (!Array.isArray(actual)) return false;
  if (Array.isArray(expected)) {
    const items = sequenceItems(actual, rule.isUnordered);
    if (items === null || items.length !== expected.length) return false;
    const isFree = rule.isUnordered && isTop;
    return isFree
      ? matchesInAnyOrder(items, expected, (a, b) => isEqual(a, b, rule, false), rule)
      : items.every((item, i) => isEqual(item, expected[i], rule, false));
  }
  return actual[0] === "d" && isObject(actual.slice(1), expected, rule);
}

/** Items of a list, tuple or deque; sets count where order is free. */
function sequenceItems(node: Tagged[], takesSets: boolean): Tagged[] | null {
  const tags = takesSets ? ["l", "t", "q", "S", "F"] : ["l", "t"];
  return tags.includes(String(node[0])) ? node.slice(1) : null;
}

function isObject(pairs: Tagged[], expected: Map<string, Json>, rule: ValueRule): boolean {
  if (pairs.length !== expected.size) return false;
  const found = new Map<string, Tagged>();
  for (const pair of pairs) {
    const [key, value] = pair as Tagged[];
    const name = keyText(key);
    if (name === null || found.has(name)) return false;
    found.set(name, value);
  }
  return [...expected].every(([key, wanted]) => {
    const value = found.get(key);
    return value !== undefined && isEqual(value, wanted, rule, false);
  });
}

function isNumber(actual: Tagged, expected: JsonNumber, rule: ValueRule): boolean {
  if (typeof actual === "boolean") {
    return rule.isPythonEqual && isNumber(actual ? "i1" : "i0", expected, rule);
  }
  if (typeof actual !== "string") return false;
  const [tag, text] = [actual[0], actual.slice(1)];
  if (tag === "i" && expected.isInteger) return plainInteger(text) === plainInteger(expected.text);
  if (tag !== "i" && tag !== "f") return false;
  const want = expected.isInteger ? null : doubleOf(expected.text);
  const have = tag === "i" ? null : doubleOf(text);
  if (want === null) return equalsInteger(have!, expected.text);
  if (have === null && equalsInteger(want, text)) return true;
  const value = have ?? Number(text);
  if (Number.isNaN(want)) return Number.isNaN(value) && !rule.isPythonEqual;
  if (value === want) return true;
  if (rule.isPythonEqual || !Number.isFinite(want) || !Number.isFinite(value)) return false;
  return Math.abs(value - want) <= rule.tolerance * Math.max(1, Math.abs(want));
}

function equalsInteger(value: number, integer: string): boolean {
  return Number.isInteger(value) && BigInt(value).toString() === plainInteger(integer);
}

const BRACKETS: Record<string, [string, string]> = {
  l: ["[", "]"],
  t: ["(", ")"],
  S: ["{", "}"],
  F: ["frozenset({", "})"],
  q: ["deque([", "])"],
};

function show(value: Tagged, limit: number): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") {
    return value[0] === "s" ? JSON.stringify(value.slice(1)) : value.slice(1);
  }
  const [tag, ...parts] = value;
  if (tag === "o") return `<${String(parts[2])} object>`;
  if (tag === "d") {
    const members = parts.slice(0, limit).map((pair) => {
      const [key, item] = pair as Tagged[];
      return `${show(key, limit)}: ${show(item, limit)}`;
    });
    return `{${members.join(", ")}}`;
  }
  const [open, close] = BRACKETS[String(tag)] ?? [`${String(tag)}(`, ")"];
  return `${open}${parts
    .slice(0, limit)
    .map((part) => show(part, limit))
    .join(", ")}${close}`;
}
