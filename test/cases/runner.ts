/** Loads cases and runs them through the area modules in `areas/`, one file per area. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type AreaModule, type Case, SkipCase } from "./case.js";

/** The result of one case. */
export interface CaseResult {
  testCase: Case;
  state: "passed" | "failed" | "skipped";
  detail: string;
}

/** Reads every case of a folder, in order of id; `area` narrows them. */
export function loadCases(dir: string, area?: string): Case[] {
  return readdirSync(dir)
    .filter((name) => name.endsWith(".json"))
    .map((name) => JSON.parse(readFileSync(join(dir, name), "utf8")) as Case)
    .filter((testCase) => area === undefined || testCase.area === area)
    .sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
}

/** Runs cases one after the other; an area without a module is skipped and says so. */
export async function runCases(cases: Case[]): Promise<CaseResult[]> {
  const modules = new Map<string, AreaModule | null>();
  const results: CaseResult[] = [];
  for (const testCase of cases) {
    if (!modules.has(testCase.area)) modules.set(testCase.area, await loadArea(testCase.area));
    results.push(await runCase(testCase, modules.get(testCase.area) ?? null));
  }
  for (const module of modules.values()) await module?.close?.();
  return results;
}

async function loadArea(area: string): Promise<AreaModule | null> {
  const url = new URL(`./areas/${area}.ts`, import.meta.url);
  return existsSync(url) ? ((await import(url.href)) as AreaModule) : null;
}

async function runCase(testCase: Case, module: AreaModule | null): Promise<CaseResult> {
  if (module === null) return { testCase, state: "skipped", detail: "area has no handler" };
  try {
    const problem = await module.run(testCase);
    return { testCase, state: problem === null ? "passed" : "failed", detail: problem ?? "" };
  } catch (error) {
    if (error instanceof SkipCase) return { testCase, state: "skipped", detail: error.message };
    return { testCase, state: "failed", detail: (error as Error).stack ?? String(error) };
  }
}
