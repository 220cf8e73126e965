/**
 * The data card: what a reader wants to know of a prepared data set before training on it, in
 * Markdown, with histograms of prompt lengths and test counts.
 */
import { binNumbers, drawHistogram } from "./histogram.js";
import type { Manifest, ManifestSplit, Spread } from "./manifest.js";
import { DROP_REASONS, type DropReason } from "./source.js";

/** Numbers behind the plots of one split. */
export interface SplitNumbers {
  promptTokens: number[];
  tests: number[];
}

/** The files of a card by name: `card.md` and its pictures. */
export function drawCard(
  manifest: Manifest,
  numbers: Record<string, SplitNumbers>,
): Map<string, string> {
  const files = new Map<string, string>();
  const sections = Object.entries(manifest.splits).flatMap(([name, split]) => {
    const { promptTokens, tests } = numbers[name];
    const pictures: [string, number[], string][] = [
      [`${name}-prompt-tokens.svg`, promptTokens, "tokens per prompt"],
      [`${name}-tests.svg`, tests, "tests per problem"],
    ];
    for (const [file, values, unit] of pictures) {
      const title = `${name}: ${unit}`;
      files.set(file, drawHistogram(binNumbers(values.map(Math.floor)), { title, unit }));
    }
    return describeSplit(
      name,
      split,
      pictures.map(([file]) => file),
    );
  });
  files.set("card.md", [...describeInputs(manifest), ...sections, ""].join("\n"));
  return files;
}

function describeInputs({ inputs, options, benchmarks, warnings }: Manifest): string[] {
  const length =
    options.length.kind === "characters"
      ? `one token for every ${options.length.per_token} characters`
      : `tokenizer ${options.length.sha256.slice(0, 12)}`;
  return [
    "# Data card",
    "",
    "| file | split | data set | bytes | sha256 |",
    "|---|---|---|---:|---|",
    ...inputs.map(
      ({ path, split, source, bytes, sha256, revision }) =>
        `| ${path}${revision === null ? "" : ` @ ${revision}`} | ${split} | ${source} | ${bytes} | ` +
        `${sha256.slice(0, 12)} |`,
    ),
    "",
    `Prompts of at most ${options.max_prompt_tokens} tokens (${length}), template ` +
      `\`${options.template.name}\` (${options.template.sha256.slice(0, 12)}), seed ${options.seed}.`,
    "",
    ...(benchmarks.length === 0
      ? ["Training rows were not held against any benchmark."]
      : benchmarks.map(({ name, problems, found }) => {
          const counts = Object.entries(found).map(([method, count]) => `${count} by ${method}`);
          const result = counts.length === 0 ? "none" : counts.join(", ");
          return `Training rows found in ${name} (${problems} problems): ${result}.`;
        })),
    "",
    ...warnings.flatMap((warning) => [`**Warning:** ${warning}.`, ""]),
  ];
}

function describeSplit(name: string, split: ManifestSplit, pictures: string[]): string[] {
  const dropped = Object.entries(split.dropped) as [DropReason, number][];
  return [
    `## ${name}`,
    "",
    `${split.written} problems of ${split.rows} rows. Tests per problem ${spread(split.tests)}; ` +
      `prompt tokens ${spread(split.prompt_tokens)}.`,
    "",
    ...pictures.map((file) => `![${file}](${file})`),
    "",
    "| collection | problems |",
    "|---|---:|",
    ...Object.entries(split.by_source).map(([source, count]) => `| ${source} | ${count} |`),
    "",
    "| rows left out | because | reason |",
    "|---:|---|---|",
    ...dropped.map(([reason, count]) => `| ${count} | ${DROP_REASONS[reason]} | \`${reason}\` |`),
    "",
  ];
}

const spread = (value: Spread | null) =>
  value === null ? "–" : `${value.min} to ${value.max}, median ${value.median}`;
