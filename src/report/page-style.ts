/** The look of report.html: one sheet, light and dark, from 400 pixels up. */

/** Colours by name, light and dark; plots refer to them as `var(--name)`. */
const COLOURS: Record<string, readonly [light: string, dark: string]> = {
  page: ["#ffffff", "#14171c"],
  panel: ["#f6f7f9", "#1c2027"],
  line: ["#dde1e7", "#323843"],
  text: ["#1c2430", "#e4e8ee"],
  quiet: ["#5b6675", "#9aa5b4"],
  before: ["#8d99ab", "#77849a"],
  after: ["#1f6fc4", "#5aa5f2"],
  good: ["#18794e", "#4cc38a"],
  bad: ["#b4331f", "#ff8b6e"],
  warn: ["#fff4d6", "#3a2f12"],
  accepted: ["#2f9e6e", "#3fae7d"],
  wrong_answer: ["#e3a53f", "#cf9335"],
  runtime_error: ["#d1603d", "#d96d4b"],
  time_limit: ["#8f5bb3", "#a579c6"],
  memory_limit: ["#6a6fc1", "#8388d8"],
  output_limit: ["#4c93b8", "#5fa6cb"],
  compile_error: ["#b84a62", "#cb6079"],
  no_program: ["#aab1bb", "#5d6673"],
  bad_problem: ["#5f6368", "#8b9097"],
};

function palette(which: 0 | 1): string {
  return Object.entries(COLOURS)
    .map(([name, pair]) => `--${name}:${pair[which]}`)
    .join(";");
}

/** The style sheet. */
export const PAGE_STYLE = `
:root{color-scheme:light dark;${palette(0)}}
@media (prefers-color-scheme:dark){:root{${palette(1)}}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
  font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:1120px;margin:0 auto;padding:24px 20px 64px}
h1{font-size:26px;line-height:1.25;margin:8px 0 4px}
h2{font-size:20px;margin:40px 0 8px}
h3{font-size:15px;margin:24px 0 8px}
p{margin:8px 0}
.quiet{color:var(--quiet)}
.conclusion{border-left:4px solid var(--after);background:var(--panel);padding:10px 14px;margin:12px 0}
.conclusion.noise{border-color:var(--before)}
.warning{background:var(--warn);padding:8px 14px;margin:8px 0;border-radius:4px}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,320px),1fr));gap:16px}
figure{margin:0;background:var(--panel);border-radius:6px;padding:10px 12px;min-width:0}
figcaption{font-weight:600;font-size:14px}
.legend{display:flex;flex-wrap:wrap;gap:2px 12px;font-size:12.5px;color:var(--quiet);margin:2px 0 4px}
.legend i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px}
svg{display:block;width:100%;height:auto}
svg .grid{stroke:var(--line);stroke-width:1}
svg .tick{fill:var(--quiet);font-size:11.5px}
svg .value{fill:var(--text);font-size:11.5px;font-weight:600}
svg .interval{stroke:var(--text);stroke-width:1.5}
.scroll{overflow-x:auto;margin-bottom:16px}
table{border-collapse:collapse;font-size:14px;min-width:min(100%,420px)}
th,td{text-align:left;padding:5px 14px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;color:var(--quiet)}
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td.setting{overflow-wrap:anywhere;max-width:340px}
.up{color:var(--good)}.down{color:var(--bad)}
.range{white-space:nowrap}
@media (max-width:600px){
  main{padding:16px 14px 48px}
  table{font-size:13px;min-width:100%}
  th,td{padding-right:6px}
  td:last-child,th:last-child{padding-right:0}
  .range{display:block;font-size:11px}
}
details{border-bottom:1px solid var(--line);padding:4px 0}
summary{cursor:pointer;overflow-wrap:anywhere}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));gap:12px}
.pair>div{min-width:0}
pre{background:var(--panel);padding:10px;overflow-x:auto;border-radius:4px;font-size:12.5px;line-height:1.45;
  margin:4px 0 10px;max-height:480px}
code{font-family:ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace}
`;
