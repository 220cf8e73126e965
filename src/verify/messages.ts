/**
 * Messages of python/sandbox/calls.py, read from a process that is not trusted: a program can write
 * to the same descriptor as the machinery around it, so that a message may hold anything.
 *
 * What breaks the protocol is the program's own failure, never an error of ours; what passes here
 * can be shown, compared and sent on without a further look.
 */
import type { Verdict } from "../core/verdict.js";
import type { Tagged } from "./values.js";

/**
 * Arrays within arrays. calls_codec.py sends values of at most 200 levels, a dictionary being two
 * arrays deep, inside a message; its reader and ours recurse.
 */
const MAX_DEPTH = 450;

/** Parses a message; one that is no array of the wire's own kinds, or too deep, is an empty one. */
export function parseMessage(text: string): Tagged[] {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return [];
  }
  return Array.isArray(message) && isOfWireKinds(message) ? message : [];
}

/** The verdict on a program that did not load, from its `failed` message. */
export function loadFailure([tag, kind, text]: Tagged[]): Verdict {
  if (tag !== "failed" || typeof text !== "string") return brokenProtocol();
  if (kind === "compile_error") return { kind: "compile_error", stderr: text };
  if (kind === "runtime_error") return { kind: "runtime_error", exitCode: 1, stderr: text };
  return brokenProtocol();
}

/** The verdict on a call that ended in an exception, from its `raise` message. */
export function raised([tag, , type, message, trace]: Tagged[]): Verdict {
  if (tag !== "raise" || typeof type !== "string" || typeof message !== "string") {
    return brokenProtocol();
  }
  const stderr = typeof trace === "string" && trace !== "" ? trace : `${type}: ${message}`;
  return { kind: "runtime_error", exitCode: type === "MemoryError" ? null : 1, stderr };
}

/** Says whether a program's message to the tests is an answer, or a call of what it was passed. */
export function isReplyOrCall(message: Tagged[]): boolean {
  const [verb, seq, ...rest] = message;
  if (typeof verb !== "string" || typeof seq !== "string") return false;
  switch (verb) {
    case "return":
      return rest.length === 2 && rest.every(isTagged);
    case "raise":
      return rest.length === 3 && rest.every((part) => typeof part === "string");
    case "get":
      return rest.length === 1 && isTarget(rest[0]);
    case "call": {
      const [target, args, kwargs, wantsChanges] = rest;
      const isComplete = rest.length === 4 && typeof wantsChanges === "boolean";
      return isComplete && isTarget(target) && isTaggedBy(args, "l") && isTaggedBy(kwargs, "d");
    }
    default:
      return false;
  }
}

/** Says whether a node is an encoded value. */
export function isTagged(node: Tagged): boolean {
  const stack: Tagged[] = [node];
  while (stack.length > 0) {
    const item = stack.pop()!;
    if (item === null || typeof item === "boolean") continue;
    if (typeof item === "string") {
      if (!SCALAR.test(item)) return false;
      continue;
    }
    const [tag, ...parts] = item;
    if (tag === "d") {
      for (const pair of parts) {
        if (!Array.isArray(pair) || pair.length !== 2) return false;
        stack.push(pair[0], pair[1]);
      }
    } else if (typeof tag === "string" && CONTAINERS.has(tag)) {
      for (const part of parts) stack.push(part);
    } else if (!isRare(tag, parts)) {
      return false;
    }
  }
  return true;
}

/** The verdict on a program whose message is none. */
export function brokenProtocol(): Verdict {
  return failed("the program broke the protocol: it sent something that is no answer");
}

/** A runtime error found by us rather than told by an exit code. */
export function failed(stderr: string): Verdict {
  return { kind: "runtime_error", exitCode: null, stderr };
}

const SCALAR = /^(?:i-?\d+$|f(?:-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)|nan)$|s)/;
const CONTAINERS = new Set(["l", "t", "S", "F", "q"]);
/** Values whose parts are texts, with the least and the greatest number of them. */
const RARE: Record<string, [number, number]> = {
  b: [1, 1],
  c: [2, 2],
  D: [1, 1],
  R: [2, 2],
  r: [3, 3],
  T: [2, 4],
  N: [1, 1],
  o: [3, 3],
  y: [1, 1],
};

function isRare(tag: Tagged, parts: Tagged[]): boolean {
  if (typeof tag !== "string" || !Object.hasOwn(RARE, tag)) return false;
  const [least, most] = RARE[tag];
  const isCounted = parts.length >= least && parts.length <= most;
  return isCounted && parts.every((part) => typeof part === "string");
}

function isTaggedBy(node: Tagged, tag: string): boolean {
  return Array.isArray(node) && node[0] === tag && isTagged(node);
}

function isTarget(node: Tagged): boolean {
  if (!Array.isArray(node)) return false;
  const [kind, of, name] = node;
  if (kind === "attr") return node.length === 3 && typeof name === "string" && isTarget(of);
  return (kind === "name" || kind === "own") && node.length === 2 && typeof of === "string";
}

function isOfWireKinds(message: unknown[]): message is Tagged[] {
  let level: unknown[][] = [message];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return false;
    const below: unknown[][] = [];
    for (const array of level) {
      for (const item of array) {
        if (Array.isArray(item)) below.push(item);
        else if (item !== null && typeof item !== "boolean" && typeof item !== "string") {
          return false;
        }
      }
    }
    level = below;
  }
  return true;
}
