/**
 * KodCode's tests under the verifier: what stands for pytest asks what pytest asks, and a program
 * earns nothing by what pytest would not let pass.
 */
import { execFile, execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Problem } from "../../src/core/problem.js";
import { sourceNamed } from "../../src/prepare/sources/table.js";
import { createVerifier, type Verifier } from "../../src/verify/verify.js";

const FILE = `import pytest
from pytest import approx
from solution import half

def test_value():
    assert half(3) == approx(1.5)

def test_text():
    with pytest.raises(TypeError):
        half("a")

def test_negative():
    with pytest.raises(ValueError, match="negative: -1$") as found:
        half(-1)
    assert str(found.value) == "negative: -1"
    assert found.type is ValueError

def test_key():
    with pytest.raises(KeyError) as found:
        half(None)
    assert str(found.value) == "'none'"

def test_any():
    with pytest.raises(Exception):
        half(-2)
`;
const RIGHT = `def half(x):
    if x is None:
        raise KeyError("none")
    if x < 0:
        raise ValueError(f"negative: {x}")
    return x / 2`;

const read = sourceNamed("kodcode").read(
  { question_id: "1", question: "Halve a number.", solution: RIGHT, test: FILE },
  { path: "rows.jsonl", line: 1 },
);
if ("drop" in read) throw new Error(read.drop.detail);
const { tests } = read.draft;
const problem: Problem = {
  id: "kodcode/1",
  source: "kodcode",
  prompt: [{ role: "user", content: "Halve a number." }],
  language: "python",
  tests,
};

describe("KodCode's raises and approx", () => {
  let verifier: Verifier;
  beforeAll(async () => {
    verifier = await createVerifier();
  });
  afterAll(() => verifier.close());

  const verdictsOf = async (program: string) => {
    const completion = `\`\`\`python\n${program}\n\`\`\``;
    const result = await verifier.verify({ problem, completion, maxTests: null });
    return result.tests.map(({ verdict }) => verdict.kind);
  };

  test("pass the reference", async () => {
    expect(await verdictsOf(RIGHT)).toEqual(new Array(5).fill("accepted"));
  });

  test.each<[string, string, string[]]>([
    [
      "raises nothing",
      "def half(x): return 1.5",
      ["accepted", "wrong_answer", "wrong_answer", "wrong_answer", "wrong_answer"],
    ],
    [
      "raises another class",
      "def half(x): raise IndexError(x)",
      ["runtime_error", "runtime_error", "runtime_error", "runtime_error", "accepted"],
    ],
    ["is missing", "def other(x): return 1.5", new Array<string>(5).fill("runtime_error")],
  ])("fail a program whose function %s", async (_, program, kinds) => {
    expect(await verdictsOf(program)).toEqual(kinds);
  });

  test("fails a value that is off by more than a millionth, and an object that equals everything", async () => {
    expect((await verdictsOf("def half(x): return 1.500002"))[0]).toBe("wrong_answer");
    const program =
      "class Any:\n    def __eq__(self, other): return True\ndef half(x): return Any()";
    expect((await verdictsOf(program))[0]).toBe("wrong_answer");
  });
});

const hasPytest = (() => {
  try {
    execFileSync("python3", ["-c", "import pytest"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();
if (!hasPytest) console.warn("skipped: python3 has no pytest to compare with");

describe("python/pytest_names.py", () => {
  test.skipIf(!hasPytest)("finds near what pytest finds near", async () => {
    const names = fileURLToPath(new URL("../../python/pytest_names.py", import.meta.url));
    const script = `
import itertools, math, runpy, sys, warnings
from decimal import Decimal
import pytest
warnings.simplefilter("ignore")
own = runpy.run_path(sys.argv[1])["pytest"]
nan, inf = math.nan, math.inf
scalars = [0, 1, True, False, 1.0000005, 1.000002, 1e-13, -1e-11, nan, inf, -inf, "a", None, 1j, 1 + 1e-9j]
lists = [[], [1, 2.0], (1, 2.0000001), [1], {"a": 1.0}, {"a": 1.0000001}, {"b": 1}, ["a", None], Decimal("1.0000001"), Decimal(1)]
options = [{}, {"rel": 0.5}, {"abs": 0.1}, {"rel": 1e-9, "abs": 1e-3}, {"nan_ok": True}]
def answer(module, actual, expected, named):
    try:
        return bool(actual == module.approx(expected, **named))
    except (TypeError, ValueError) as error:
        return type(error).__name__
count = 0
for actual, expected, named in itertools.product(scalars + lists, scalars + lists, options):
    found, right = (answer(module, actual, expected, named) for module in (own, pytest))
    # A tolerance on texts is refused by pytest: no test of a data set that ran holds one.
    if found != right and right != "TypeError":
        print(actual, expected, named, found, right)
    count += 1
print(count)
`;
    const { stdout } = await promisify(execFile)("python3", ["-c", script, names]);
    expect(stdout.trim()).toBe("3125");
  });
});
