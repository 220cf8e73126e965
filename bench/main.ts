/**
 * `npm run bench -- NAME --json`: runs one bench beside its baseline, in one go.
 *
 * A bench prints what it likes while it runs; the last line is one JSON object with its figures.
 */
import { existsSync, readdirSync } from "node:fs";
import { cpus, totalmem } from "node:os";

/** What a bench module exports: it measures and answers its figures by key. */
export interface BenchModule {
  run(args: string[]): Promise<Record<string, number>>;
}

const [name, ...args] = process.argv.slice(2);
const known = readdirSync(new URL(".", import.meta.url))
  .filter((file) => file.endsWith(".ts") && file !== "main.ts")
  .map((file) => file.slice(0, -3));
const url = new URL(`./${name}.ts`, import.meta.url);
if (name === undefined || !known.includes(name) || !existsSync(url)) {
  console.error(`bench: expected one of ${known.join(", ")}, got ${name ?? "nothing"}`);
  process.exit(2);
}
const bench = (await import(url.href)) as BenchModule;
const figures = await bench.run(args.filter((arg) => arg !== "--json"));
const machine = `${cpus().length}× ${cpus()[0].model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
console.log(JSON.stringify({ bench: name, machine, figures }));
