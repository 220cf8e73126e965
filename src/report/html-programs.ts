/** The problems of report.html with their programs before and after, folded. */
import type { EvalSample } from "../core/evaluation.js";
import { type ProblemPair, type ReportSection, sampleToShow } from "./compare.js";
import { OUTCOMES } from "./html-tables.js";
import { escapeText } from "./plot-scale.js";

/** Problems shown with their programs in each list: the page must stay light. */
const MOST_PROBLEMS = 100;
/** Longest text shown of a program, prompt or completion. */
const MOST_CHARACTERS = 6000;

const HEADINGS = {
  gained: "Gained: wrong before, right after",
  lost: "Lost: right before, wrong after",
  both: "Right both times",
  neither: "Wrong both times",
} as const;

/** Renders the four lists of problems. */
export function renderPrograms({ comparison, before, after }: ReportSection): string {
  return OUTCOMES.map((outcome) => {
    const pairs = comparison.pairs.filter((pair) => pair.outcome === outcome);
    const shown = pairs.slice(0, MOST_PROBLEMS);
    const rest = pairs.length - shown.length;
    const names = [before.info.name, after.info.name] as const;
    const items = shown.map((pair) => renderPair(pair, names)).join("");
    const more = rest > 0 ? `<p class="quiet">and ${rest} more; see report.json</p>` : "";
    return `<h3>${HEADINGS[outcome]} (${pairs.length})</h3>${items}${more}`;
  }).join("");
}

function renderPair(pair: ProblemPair, names: readonly [string, string]): string {
  const prompt = (pair.samplesAfter[0].prompt ?? pair.samplesBefore[0].prompt ?? [])
    .map(({ role, content }) => `[${role}]\n${content}`)
    .join("\n\n");
  const [left, right] = [pair.samplesBefore, pair.samplesAfter];
  return (
    `<details><summary><code>${escapeText(pair.problemId)}</code> <span class="quiet">` +
    `${verdictsOf(left)} → ${verdictsOf(right)}</span></summary>` +
    (prompt === "" ? "" : `<details><summary>prompt</summary>${code(prompt)}</details>`) +
    `<div class="pair">${renderSample(left, names[0])}${renderSample(right, names[1])}</div></details>`
  );
}

function renderSample(samples: readonly EvalSample[], name: string): string {
  const sample = sampleToShow(samples);
  const note = sample.finish === "length" ? ", cut off by the token limit" : "";
  const text = sample.program ?? sample.completion;
  const kind = sample.program === null ? "completion, no program in it" : "program";
  return (
    `<div><p><strong>${escapeText(name)}</strong>: ${words(sample.verdict)}${note} ` +
    `<span class="quiet">(${kind}, sample ${sample.sample})</span></p>${code(text)}</div>`
  );
}

function verdictsOf(samples: readonly EvalSample[]): string {
  if (samples.length === 1) return words(samples[0].verdict);
  const right = samples.filter(({ verdict }) => verdict === "accepted").length;
  return `${right} of ${samples.length} right`;
}

function code(text: string): string {
  const shown = text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}\n…` : text;
  return `<pre><code>${escapeText(shown)}</code></pre>`;
}

function words(kind: string): string {
  return kind.replaceAll("_", " ");
}
