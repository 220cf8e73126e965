/** Every link of the docs leads to a file or heading that is there; every page can be reached. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { inProject } from "./project.js";

const pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].concat(
  ...["docs", "examples"].map((folder) =>
    readdirSync(inProject(folder), { recursive: true })
      .map((name) => `${folder}/${String(name)}`)
      .filter((name) => name.endsWith(".md") && !name.startsWith("docs/api/"))
      .sort(),
  ),
);
const textOf = (page: string) => readFileSync(inProject(page), "utf8");

/** The page without code, in which brackets are no links. */
const proseOf = (text: string) =>
  text.replace(/^ *(```+)[^]*?^ *\1 *$/gm, "").replace(/`[^`\n]*`/g, "");

/** Targets of `[text](target)`, `![alt](target)` and `<img src="target">`. */
function targetsOf(page: string): string[] {
  const prose = proseOf(textOf(page));
  const links = [...prose.matchAll(/\]\(([^()\s]+)\)/g), ...prose.matchAll(/\bsrc="([^"]+)"/g)];
  return links.map(([, target]) => target);
}

/** Where a relative link leads, from the project's root. */
const resolve = (page: string, target: string) =>
  normalize(join(dirname(page), target.split("#")[0])).replace(/\/$/, "");

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const headings = [...textOf(page).matchAll(/^#+ +(.*?) *$/gm)];
  const counts = new Map<string, number>();
  const anchors = headings.map(([, heading]) => {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = plain.replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
    const before = counts.get(anchor) ?? 0;
    counts.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
  return new Set(anchors);
}

function faultOf(page: string, target: string): string | null {
  if (/^https:\/\//.test(target)) return null;
  if (/^[a-z]+:/.test(target)) return "is neither a path nor https";
  const path = target.startsWith("#") ? page : resolve(page, target);
  if (path.startsWith("..")) return "leads out of the project";
  if (!existsSync(inProject(path))) return "leads to nothing";
  const anchor = target.split("#")[1];
  if (anchor === undefined || !path.endsWith(".md")) return null;
  return anchorsOf(path).has(anchor) ? null : `${path} has no heading #${anchor}`;
}

describe("links", () => {
  test.each(pages)("of %s lead somewhere", (page) => {
    const faults = targetsOf(page).map((target) => [target, faultOf(page, target)]);
    expect(faults.filter(([, fault]) => fault !== null)).toEqual([]);
  });

  test("lead from the README to every page", () => {
    const reached = new Set(["README.md"]);
    for (const page of reached) {
      for (const target of targetsOf(page)) {
        const path = resolve(page, target);
        if (pages.includes(path)) reached.add(path);
      }
    }
    expect(pages.filter((page) => !reached.has(page))).toEqual([]);
  });
});
