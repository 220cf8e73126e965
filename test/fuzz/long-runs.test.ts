/**
 * One character many times over: what a policy that has lost its way writes, and what a hostile
 * program prints. Where the work is the square of the length, a case takes minutes and its test's
 * time limit ends it.
 */
import { describe, expect, test } from "vitest";
import { compareOutput, resolveRule } from "../../src/verify/compare.js";
import { COMPAT_MODES } from "../../src/verify/compare-compat.js";
import { extractAnswer } from "../../src/verify/answer.js";
import { extractProgram } from "../../src/verify/extract.js";

const LENGTH = 300_000;
const run = (text: string) => text.repeat(Math.ceil(LENGTH / text.length));

describe("extractProgram ends on", () => {
  test.each([
    ["blanks", `x${run(" ")}y`],
    ["line ends", `x${run("\n")}y`],
    ["carriage returns", `${run("\r")}x`],
    ["blanks behind a bullet", `- ${run(" ")}y`],
    ["blanks behind a colon", `a:${run(" ")}y`],
    ["blanks behind a call", `print(1)${run(" ")}x`],
    ["blank lines in a block", `if x:\n${run(" \n")}y`],
    ["end tokens", `${run("<|end|>")}x`],
    ["end tokens and blanks", `${run("</s> ")}x`],
    ["colons before another line end", `if ${run(":")}x\u2028y`],
    ["comments before another line end", `f(${run(")#")}\u2028y`],
    ["brackets", `a${run("[")}`],
    ["closed brackets", `f(${run(") ")}x`],
    ["names and commas", `a${run(" , a")}`],
    ["imports", `import a${run(", a")}!`],
    ["back-ticks", run("`")],
    ["fences", run("~~~\n")],
    ["info", `\`\`\`py${run(" ")}x\n`],
    ["quotes", `a = ${run("\"'")}`],
    ["back-slashes", `a = ${run("\\")}`],
    ["signs of equality", `assert ${run("=")}`],
  ])("%s", (_, completion) => {
    for (const entryPoint of [null, "f"]) {
      expect(extractProgram({ completion, language: "python", entryPoint })).toBeDefined();
    }
  });
});

test.each([
  ["blanks", `a ${run(" ")} b`],
  ["dashes", run("- ")],
  ["currency signs", run("$ ")],
  ["zeros", `.${run("0")}1`],
  ["marks", run("####")],
])("extractAnswer ends on %s", (_, text) => {
  for (const method of ["strict", "flexible"] as const) {
    expect([null, "string"]).toContain(
      typeof extractAnswer(text, method) === "string" ? "string" : null,
    );
  }
});

describe.each(["tokens", "lines", "exact", ...Object.keys(COMPAT_MODES)])(
  "comparing by %s",
  (mode) => {
    test.each([
      ["blanks", `1${run(" ")}2`],
      ["line ends", `1${run("\n")}2`],
      ["zeros", `1${run("0")}2`],
      ["zeros behind a dot", `.${run("0")}2`],
    ])("ends on %s", (_, printed) => {
      const rule = resolveRule({ mode: mode as "tokens" }, "test");
      const bytes = (text: string) => Buffer.from(text);
      expect(compareOutput(bytes("1.5 2"), bytes(printed), rule)).toMatchObject({ isEqual: false });
      expect(compareOutput(bytes(printed), bytes("1.5 2"), rule)).toMatchObject({ isEqual: false });
    });
  },
);
