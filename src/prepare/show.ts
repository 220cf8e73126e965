/** Looking at what was prepared: one problem by its id, and a run in words. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "../core/errors.js";
import { countTests, type Problem } from "../core/problem.js";
import { readJsonl } from "../formats/jsonl.js";
import type { Manifest, ManifestSplit } from "./manifest.js";
import type { PreparePlan } from "./prepare.js";
import { DROP_REASONS, type DropReason } from "./source.js";

/**
 * Finds a problem in a prepared folder or a problem file.
 *
 * @throws {ConfigError} if there is none of that id.
 */
export async function findProblem(path: string, id: string): Promise<Problem> {
  const info = await stat(path).catch(() => null);
  if (info === null) throw new ConfigError(`show: ${path} is neither a file nor a folder`);
  const files = info.isDirectory()
    ? (await readdir(path)).filter((name) => /^(?:train\d+|validation)\.jsonl$/.test(name))
    : [path];
  for (const file of files) {
    for await (const { value } of readJsonl(info.isDirectory() ? join(path, file) : file)) {
      // The file is our own and was checked when it was written.
      if (value["id"] === id) return value as unknown as Problem;
    }
  }
  throw new ConfigError(
    `show: no problem ${id} in ${path}; dropped.jsonl there says why rows were left out`,
  );
}

const SHOWN_TESTS = 3;
const SHOWN_CHARACTERS = 600;

/** A problem as text: prompt, first tests, facts. */
export function describeProblem({ id, source, prompt, tests, tags }: Problem): string {
  const facts = Object.entries(tags ?? {}).map(([name, value]) => `${name}=${value}`);
  const cases: unknown[] = tests.kind === "answer" ? [tests.answer] : tests.cases;
  const shown = cases.slice(0, SHOWN_TESTS).map((testCase, index) => {
    const text = typeof testCase === "string" ? testCase : JSON.stringify(testCase, null, 2);
    const isCut = text.length > SHOWN_CHARACTERS;
    return `test ${index + 1}: ${isCut ? `${text.slice(0, SHOWN_CHARACTERS)} (cut)` : text}`;
  });
  return [
    `${id}  (${source}; ${facts.join(", ")})`,
    ...prompt.map(({ role, content }) => `\n[${role}]\n${content}`),
    `\n${countTests(tests)} tests, ${tests.kind}:`,
    ...shown,
    "",
  ].join("\n");
}

/** A finished run in words. */
export function describeManifest({ splits, outputs }: Manifest): string {
  const lines = Object.entries(splits).flatMap(([name, split]) => describeSplit(name, split));
  const files = outputs.map(({ name, bytes }) => `  ${name}  ${bytes} bytes`);
  return [...lines, "files:", ...files, ""].join("\n");
}

function describeSplit(name: string, { rows, written, dropped }: ManifestSplit): string[] {
  const reasons = Object.entries(dropped) as [DropReason, number][];
  const width = Math.max(0, ...reasons.map(([, count]) => String(count).length));
  return [
    `${name}: ${written} problems of ${rows} rows`,
    ...reasons.map(
      ([reason, count]) => `  ${String(count).padStart(width)}  ${reason}: ${DROP_REASONS[reason]}`,
    ),
  ];
}

/** A plan in words. */
export function describePlan({ inputs, options, against, out }: PreparePlan): string {
  const files = inputs.map(
    ({ split, path, source, rows, bytes }) =>
      `${split}: ${path} (${source}, ${rows === null ? "" : `${rows} rows, `}${bytes} bytes)`,
  );
  const settings = Object.entries(options).map(
    ([name, value]) => `  ${name}: ${JSON.stringify(value)}`,
  );
  const checks = against.map((text) => `  against: ${text}`);
  return [...files, ...settings, ...checks, `would write to ${out}`, ""].join("\n");
}
