/**
 * Pairs the items of a result with the expected ones where their order is free.
 *
 * Items that are equal without any tolerance are paired by a text that both share, which takes one
 * pass. Only the rest, floats and what holds them, is compared item by item: sorted, which finds
 * every pairing of plain numbers, and for a moderate number of items each with each.
 */
import { type Json, JsonNumber } from "../formats/lossless-json.js";
import { doubleOf, keyText, plainInteger, type Tagged, type ValueRule } from "./tagged.js";

/** Rest beyond which items are not compared each with each: 2,000 take about half a second. */
const MOST_EACH_WITH_EACH = 2000;

/** Says whether some order of the items equals the expected ones, item by item. */
export function matchesInAnyOrder(
  items: readonly Tagged[],
  expected: readonly Json[],
  isEqual: (actual: Tagged, expected: Json) => boolean,
  rule: ValueRule,
): boolean {
  const left = new Map<string, Tagged[]>();
  for (const item of items) {
    const text = exactText(item, rule);
    const same = left.get(text);
    if (same === undefined) left.set(text, [item]);
    else same.push(item);
  }
  const missing: Json[] = [];
  for (const wanted of expected) {
    const text = exactTextOfJson(wanted, rule);
    if (left.get(text)?.pop() !== undefined) continue;
    // Without a float in it nothing but an exact equal can match.
    if (!holdsFloat(wanted)) return false;
    missing.push(wanted);
  }
  const rest = [...left.values()].flat();
  return matchesSorted(rest, missing, isEqual) || matchesEach(rest, missing, isEqual);
}

type Equality = (actual: Tagged, expected: Json) => boolean;

function matchesSorted(items: Tagged[], expected: Json[], isEqual: Equality): boolean {
  const have = items.map((item) => ({ item, key: sortKey(item) })).sort(byKey);
  const want = expected.map((wanted) => ({ wanted, key: sortKeyOfJson(wanted) })).sort(byKey);
  return want.every(({ wanted }, i) => isEqual(have[i].item, wanted));
}

function matchesEach(items: Tagged[], expected: Json[], isEqual: Equality): boolean {
  if (items.length > MOST_EACH_WITH_EACH) return false;
  const left = [...items];
  return expected.every((wanted) => {
    const at = left.findIndex((item) => isEqual(item, wanted));
    if (at !== -1) left.splice(at, 1);
    return at !== -1;
  });
}

function holdsFloat(value: Json): boolean {
  if (value instanceof JsonNumber) return !value.isInteger;
  if (Array.isArray(value)) return value.some(holdsFloat);
  return value instanceof Map && [...value.values()].some(holdsFloat);
}

/** Where the order is free, these are sequences at every level. */
const SEQUENCES = new Set(["l", "t", "q", "S", "F"]);

/**
 * The same text for exactly equal values. A value that equals no JSON value has a text that none of
 * those has; NaN too, since the rule decides whether it equals itself.
 */
function exactText(value: Tagged, rule: ValueRule): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return booleanText(value, rule);
  if (typeof value === "string") {
    if (value[0] === "s") return JSON.stringify(value.slice(1));
    if (value[0] === "i") return plainInteger(value.slice(1));
    return Number.isNaN(doubleOf(value.slice(1))) ? "nan(" : floatText(value.slice(1));
  }
  const [tag, ...parts] = value;
  if (SEQUENCES.has(String(tag))) return `[${parts.map((part) => exactText(part, rule)).join()}]`;
  if (tag !== "d") return `${String(tag)}(`;
  const pairs = parts.map((part): [string, string] => {
    const [key, item] = part as Tagged[];
    const name = keyText(key);
    return [name === null ? "(" : JSON.stringify(name), exactText(item, rule)];
  });
  return objectText(pairs);
}

function exactTextOfJson(value: Json, rule: ValueRule): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return booleanText(value, rule);
  if (typeof value === "string") return JSON.stringify(value);
  if (value instanceof JsonNumber) {
    return value.isInteger ? plainInteger(value.text) : floatText(value.text);
  }
  if (Array.isArray(value)) return `[${value.map((item) => exactTextOfJson(item, rule)).join()}]`;
  return objectText(
    [...value].map(([key, item]) => [JSON.stringify(key), exactTextOfJson(item, rule)]),
  );
}

function booleanText(value: boolean, rule: ValueRule): string {
  return rule.isPythonEqual ? (value ? "1" : "0") : String(value);
}

function floatText(text: string): string {
  const value = doubleOf(text);
  if (Number.isInteger(value)) return BigInt(value).toString();
  return String(value);
}

function objectText(pairs: [string, string][]): string {
  const sorted = pairs.map(([key, text]) => `${key}:${text}`).sort(byText);
  return `{${sorted.join()}}`;
}

/** What items are sorted by: their numbers, then all else. */
interface SortKey {
  numbers: number[];
  texts: string;
}

function sortKey(value: Tagged): SortKey {
  const key = { numbers: [] as number[], texts: [] as string[] };
  const visit = (node: Tagged): void => {
    if (typeof node === "string" && node[0] !== "s") {
      key.numbers.push(doubleOf(node.slice(1)));
    } else if (Array.isArray(node)) {
      node.slice(1).forEach(visit);
    } else {
      key.texts.push(typeof node === "string" ? node.slice(1) : String(node));
    }
  };
  visit(value);
  return { numbers: key.numbers, texts: key.texts.join("\0") };
}

function sortKeyOfJson(value: Json): SortKey {
  const key = { numbers: [] as number[], texts: [] as string[] };
  const visit = (node: Json): void => {
    if (node instanceof JsonNumber) key.numbers.push(doubleOf(node.text));
    else if (Array.isArray(node)) node.forEach(visit);
    else if (node instanceof Map) {
      for (const [name, item] of node) {
        key.texts.push(name);
        visit(item);
      }
    } else key.texts.push(String(node));
  };
  visit(value);
  return { numbers: key.numbers, texts: key.texts.join("\0") };
}

/** Texts first: they are exact, while numbers that are close may stand in either order. */
function byKey({ key: a }: { key: SortKey }, { key: b }: { key: SortKey }): number {
  const order = byText(a.texts, b.texts);
  if (order !== 0) return order;
  for (let i = 0; i < Math.min(a.numbers.length, b.numbers.length); i++) {
    if (a.numbers[i] !== b.numbers[i]) return a.numbers[i] < b.numbers[i] ? -1 : 1;
  }
  return a.numbers.length - b.numbers.length;
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
