/**
 * A pytest file as tests of ours. The process that runs them has no pytest and no file of the
 * solution: names of the solution are the program's without an import, and of pytest there are
 * `raises` and `approx` (python/pytest_names.py). A file that needs more cannot be passed by any
 * program, so it is left out with the reason.
 */
import { readFileSync } from "node:fs";

/** What becomes of a pytest file. */
export type SplitFile =
  | {
      /** What the test functions share. */
      setup: string;
      /** Each test function, with a call of itself. */
      cases: string[];
    }
  | { unsupported: string };

/** Exceptions that reach the tests as what they are: built in, and made of one text. */
const EXCEPTIONS = new Set(
  (
    "Exception BaseException ArithmeticError AssertionError AttributeError BufferError EOFError " +
    "FloatingPointError ImportError IndexError IndentationError IOError KeyError LookupError " +
    "MemoryError ModuleNotFoundError NameError NotImplementedError OSError OverflowError " +
    "ConnectionError FileExistsError FileNotFoundError IsADirectoryError NotADirectoryError " +
    "PermissionError RecursionError ReferenceError RuntimeError SyntaxError SystemError TimeoutError " +
    "TypeError UnboundLocalError ValueError ZeroDivisionError"
  ).split(" "),
);

// An import at any depth, over several lines where it has brackets; one that renames stays.
const NAMES = /^([ \t]*)from[ \t]+(solution|pytest)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)$/gm;
const PYTEST = /^([ \t]*)import[ \t]+pytest[ \t]*(?:#.*)?$/gm;
const LEFT_IMPORT =
  /^[ \t]*(?:import\b[^\n]*\b(?:pytest|solution)\b|from[ \t]+(?:pytest|solution)\b)[^\n]*$/m;

/** Splits a pytest file into its test functions and the rest, or says what it needs. */
export function splitPytest(file: string): SplitFile {
  const assignments = new Set<string>();
  const bare = file
    .replaceAll("\r\n", "\n")
    .replace(NAMES, (line: string, indent: string, module: string, names: string) => {
      if (/\bas\b/.test(names)) return line;
      if (module === "pytest") {
        for (const [name] of names.replace(/#.*$/gm, "").matchAll(/\w+/g)) {
          assignments.add(`${name} = pytest.${name}`);
        }
      }
      return pass(indent);
    })
    .replace(PYTEST, (_, indent: string) => pass(indent));
  const blocks = bare.split(/^(?=\S)/m).filter((block) => !/^if\s+__name__\b/.test(block));
  const need = needOf([...assignments, ...blocks].join("\n"));
  if (need !== null) return { unsupported: need };
  const shared: string[] = [];
  const cases: string[] = [];
  for (const block of blocks) {
    const name = /^def (test_\w+)\(\s*\)/.exec(block)?.[1];
    if (name !== undefined) cases.push(`${block.trimEnd()}\n\n${name}()`);
    else shared.push(block);
  }
  const setup = shared.join("").trim();
  const isPytestUsed = assignments.size > 0 || blocks.some((block) => /\bpytest\./.test(block));
  if (!isPytestUsed) return { setup, cases };
  return { setup: [pytestNames(), ...assignments, setup].join("\n").trim(), cases };
}

// What stood alone in a block must leave a block behind.
const pass = (indent: string) => (indent === "" ? "" : `${indent}pass`);

/** What a file without its usual imports needs beyond what there is; null for nothing. */
function needOf(text: string): string | null {
  const left = LEFT_IMPORT.exec(text)?.[0];
  if (left !== undefined) return left.trim();
  if (!/\bpytest\./.test(text)) return null;
  const name = /\bpytest\.(?!(?:raises|approx)\b)\w+/.exec(text)?.[0];
  if (name !== undefined) return name;
  // The text of an exception travels, and nothing else that it holds.
  const held = /\.value\.\w+/.exec(text)?.[0];
  if (held !== undefined) return `${held.slice(1)} of an exception`;
  for (const [call, asked] of text.matchAll(/(?<![\w.])(?:pytest\.)?raises\(\s*([^\n]*)/g)) {
    const [, classes = ""] = RAISED.exec(asked) ?? [];
    const words = classes.match(/\w+/g) ?? [];
    if (words.length === 0 || !words.every((word) => EXCEPTIONS.has(word))) return call.trim();
  }
  return null;
}

// One class or a tuple of them, then the end or a pattern; a function to call is not supported.
const RAISED = /^(\w+|\(\s*\w+(?:\s*,\s*\w+)*\s*,?\s*\))\s*(?:\)|,\s*match\s*=|,\s*$)/;

let names: string | null = null;

function pytestNames(): string {
  names ??= readFileSync(new URL("../../../python/pytest_names.py", import.meta.url), "utf8");
  return names;
}
