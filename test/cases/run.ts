/** `npm run cases -- DIR [--area NAME]`: runs a folder of cases; exit 1 on a strict failure. */
import { parseArgs } from "node:util";
import { loadCases, runCases } from "./runner.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { area: { type: "string" } },
});
const dir = positionals[0] ?? new URL("./data", import.meta.url).pathname;
const results = await runCases(loadCases(dir, values.area));

for (const { testCase, state, detail } of results) {
  const label = `${testCase.id} ${testCase.area}${testCase.strict ? "" : " (policy)"}`;
  if (state === "failed") console.log(`FAILED ${label}: ${testCase.why}\n    ${detail}`);
  if (state === "skipped") console.log(`skipped ${label}: ${detail}`);
}
const count = (state: string) => results.filter((result) => result.state === state).length;
console.log(`${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);
if (results.some((result) => result.state === "failed" && result.testCase.strict)) {
  process.exitCode = 1;
}
