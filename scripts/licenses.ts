/**
 * The licences of everything that a user of the package gets: what npm installs beside it, and what
 * the dashboard's build takes in. docs/LICENSES.md is its output; a test holds both to each other.
 *
 *     npx tsx scripts/licenses.ts > docs/LICENSES.md
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** SPDX names of licences whose terms a work under Apache-2.0 can meet by keeping their notice. */
export const COMPATIBLE: readonly string[] = [
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "CC0-1.0",
  "ISC",
  "MIT",
  "Python-2.0",
  "Unlicense",
  "Zlib",
];

/** A package that users get. */
export interface Licensed {
  name: string;
  /** The range of package.json for those that we name, else the locked version. */
  version: string;
  /** An SPDX expression; null where the package says none. */
  license: string | null;
  why: "direct" | "through another" | "in the dashboard";
}

interface Entry {
  version: string;
  license?: string;
  dev?: boolean;
}

/** Reads the manifest and the lockfile. */
export function readLicenses(): Licensed[] {
  const read = (name: string) => JSON.parse(readFileSync(join(ROOT, name), "utf8")) as unknown;
  const { dependencies, devDependencies } = read("package.json") as Record<
    "dependencies" | "devDependencies",
    Record<string, string>
  >;
  const { packages } = read("package-lock.json") as { packages: Record<string, Entry> };
  const bundled = new Set(bundledPackages());
  const rows = Object.entries(packages).flatMap(([path, entry]): Licensed[] => {
    const name = path.split("node_modules/").at(-1) as string;
    const isOurs = path === `node_modules/${name}`;
    const license = entry.license ?? null;
    if (isOurs && bundled.has(name)) {
      return [{ name, version: devDependencies[name], license, why: "in the dashboard" }];
    }
    if (path === "" || entry.dev === true) return [];
    return isOurs && name in dependencies
      ? [{ name, version: dependencies[name], license, why: "direct" }]
      : [{ name, version: entry.version, license, why: "through another" }];
  });
  return rows.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** Packages that the dashboard's sources import: the build copies them into dist/web. */
function bundledPackages(): string[] {
  const sources = readdirSync(join(ROOT, "web"), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && name !== "vite.config.ts")
    .map((name) => readFileSync(join(ROOT, "web", name), "utf8"));
  return sources.flatMap((text) =>
    [...text.matchAll(/from "((?:@[\w.-]+\/)?[\w-][\w.-]*)/g)].map((match) => match[1]),
  );
}

/** True when an SPDX expression can be met: one side of every OR, both of every AND. */
export function isCompatible(license: string | null): boolean {
  if (license === null) return false;
  const bare = license.replace(/^\(([^()]*)\)$/, "$1");
  if (bare.includes("(")) return false;
  return bare
    .split(" OR ")
    .some((side) => side.split(" AND ").every((name) => COMPATIBLE.includes(name)));
}

/** Writes the document. */
export function describeLicenses(rows: readonly Licensed[]): string {
  const table = rows.map((row) => {
    return `| ${row.name} | ${row.version} | ${row.license ?? "none said"} | ${row.why} |`;
  });
  return `# Licences

code-rlvr is under Apache-2.0. These packages come to its users: \`direct\` ones are named in package.json,
\`through another\` ones by those, and the ones \`in the dashboard\` are part of its built files, with their licences
in \`dist/web/licenses.md\`. \`npx tsx scripts/licenses.ts\` writes this table from the lockfile; a test fails where
a licence is not one of ${COMPATIBLE.join(", ")}.

| package | version | licence | why |
|---|---|---|---|
${table.join("\n")}

The starter model and its problems are our own, under the same licence as the code. Models and data sets that
\`rlvr prepare\` and \`rlvr eval\` fetch from a hub keep their own licences.
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(describeLicenses(readLicenses()));
}
