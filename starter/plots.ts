/**
 * The tutorial's pictures: `npx tsx starter/plots.ts RUN_DIR OUT_DIR`.
 *
 * They are the plots of `rlvr report`, as files that stand alone: the page's colours and style are
 * written into each.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readCurves } from "../src/report/curves.js";
import type { RunChart } from "../src/report/curves.js";
import { drawLines } from "../src/report/plots.js";

const COLOURS: Record<string, string> = {
  "--blue": "#2f6fb2",
  "--orange": "#c8651b",
  "--green": "#2e8b57",
};
const STYLE =
  "<style>svg{background:#fff;font-family:sans-serif}.grid{stroke:#ddd}" +
  ".tick{fill:#666;font-size:11.5px}.value{fill:#222;font-size:11.5px}</style>";

/** File name → titles of the run's charts that share it, each with its colour. */
const PICTURES: Record<string, Record<string, string>> = {
  "starter-learning": { Format: "--orange", "Pass rate": "--blue" },
  "starter-kl": { "KL to the reference": "--blue" },
  "starter-entropy": { Entropy: "--green" },
  "starter-length": { "Response length, tokens": "--orange" },
};

const [runDir, outDir] = process.argv.slice(2);
const { charts } = await readCurves(runDir);
mkdirSync(outDir, { recursive: true });
for (const [file, titles] of Object.entries(PICTURES)) {
  const shown = charts.filter(({ title }) => title in titles);
  writeFileSync(join(outDir, `${file}.svg`), standAlone(draw(shown, titles)));
}

function draw(shown: RunChart[], titles: Record<string, string>): string {
  return drawLines({
    label: Object.keys(titles).join(" and ").toLowerCase(),
    span: shown[0].span,
    series: shown.flatMap(({ title, curves }) =>
      curves.map(({ name, phase, steps, values }) => ({
        ...{ name: `${name}, ${phase}`, steps, values, colour: titles[title] },
        isDotted: phase === "val",
      })),
    ),
  });
}

function standAlone(svg: string): string {
  return (
    svg
      .replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
      .replace(">", `>${STYLE}`)
      .replace(/var\((--[a-z]+)\)/g, (name, colour: string) => COLOURS[colour] ?? name) + "\n"
  );
}
