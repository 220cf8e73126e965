/**
 * Known advisories of the packages that users install beside ours, as the registry tells them.
 * Skips, and says so, where the registry does not answer audits.
 */
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TIMEOUT = 180_000;

/** What `npm audit --json` prints: a report, or why there is none. */
interface Audit {
  vulnerabilities?: Record<string, { severity: string }>;
  message?: string;
}

async function audit(...options: string[]): Promise<Audit> {
  const args = ["audit", "--omit=dev", "--json", ...options];
  const child = spawn("npm", args, { cwd: ROOT, stdio: ["ignore", "pipe", "ignore"] });
  return JSON.parse(await text(child.stdout)) as Audit;
}

/** Packages with an advisory of moderate severity or higher. */
function namesAtRisk({ vulnerabilities = {} }: Audit): string[] {
  const isGrave = ({ severity }: { severity: string }) => severity !== "info" && severity !== "low";
  return Object.keys(vulnerabilities).filter((name) => isGrave(vulnerabilities[name]));
}

test(
  "no package that users install has a known advisory",
  { timeout: TIMEOUT },
  async (context) => {
    const found = await audit();
    context.skip(found.vulnerabilities === undefined, `no audit: ${found.message}`);
    expect(namesAtRisk(found)).toEqual([]);
  },
);

test("an advisory is found in what the registry answers", { timeout: TIMEOUT }, async () => {
  const advisory = (id: number, severity: string) => [
    { id, severity, vulnerable_versions: "*", title: "made up", url: "https://example.org" },
  ];
  const answer = { zod: advisory(1, "moderate"), yaml: advisory(2, "low") };
  const registry = createServer((request, response) => {
    const isAudit = request.url === "/-/npm/v1/security/advisories/bulk";
    response.writeHead(isAudit ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(isAudit ? answer : {}));
  });
  await new Promise<void>((ready) => registry.listen(0, "127.0.0.1", ready));
  try {
    const { port } = registry.address() as AddressInfo;
    expect(namesAtRisk(await audit(`--registry=http://127.0.0.1:${port}`))).toEqual(["zod"]);
  } finally {
    registry.close();
  }
});
