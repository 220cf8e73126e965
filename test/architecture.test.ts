/** The layers: rooms import only towards the core, never sideways, and nothing goes in a circle. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const SRC = fileURLToPath(new URL("../src", import.meta.url));

/** Rooms by rank; a room may import rooms of a lower rank only. */
const RANKS = [
  ["core"],
  ["formats", "config"],
  ["autodiff"],
  ["model", "verify"],
  ["prepare", "train", "launch", "merge", "eval", "report"],
  ["service"],
  ["cli"],
];
const rankOf = (room: string) => RANKS.findIndex((rooms) => rooms.includes(room));

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
  .map((name) => join(SRC, name));

const importsOf = (file: string) =>
  [...readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map((match) =>
    resolve(dirname(file), match[1].replace(/\.js$/, ".ts")),
  );
const roomOf = (file: string) => relative(SRC, file).split("/")[0];
const nameOf = (file: string) => relative(SRC, file);

describe("the rooms", () => {
  test("are those of the layout", () => {
    const rooms = new Set(files.map(roomOf).filter((room) => !room.endsWith(".ts")));
    expect([...rooms].filter((room) => rankOf(room) === -1)).toEqual([]);
  });

  test("import only rooms of a lower rank", () => {
    const wrong = files
      .filter((file) => nameOf(file) !== "index.ts")
      .flatMap((file) =>
        importsOf(file)
          .filter((target) => roomOf(target) !== roomOf(file))
          .filter((target) => rankOf(roomOf(target)) >= rankOf(roomOf(file)))
          .map((target) => `${nameOf(file)} → ${nameOf(target)}`),
      );
    expect(wrong).toEqual([]);
  });

  test("have no import cycles", () => {
    const state = new Map<string, "open" | "done">();
    const cycles: string[] = [];
    const visit = (file: string, path: string[]) => {
      if (state.get(file) === "done") return;
      if (state.get(file) === "open") {
        cycles.push([...path.slice(path.indexOf(file)), file].map(nameOf).join(" → "));
        return;
      }
      state.set(file, "open");
      for (const target of importsOf(file)) visit(target, [...path, file]);
      state.set(file, "done");
    };
    for (const file of files) visit(file, []);
    expect(cycles).toEqual([]);
  });
});

/** What a room never does, as patterns that its sources never hold. */
const ABSENCES: { what: string; pattern: RegExp; allowed: (file: string) => boolean }[] = [
  {
    what: "print, read argv or the environment, or exit outside cli/",
    pattern: /\bconsole\.|process\.(argv|env|exit|stdout|stderr)\b/,
    allowed: (file) => roomOf(file) === "cli",
  },
  {
    what: "draw random numbers outside core/random.ts",
    pattern: /Math\.random\(/,
    allowed: (file) => nameOf(file) === "core/random.ts",
  },
  {
    what: "listen on a port outside service/",
    pattern: /\.listen\(|createServer\(|@hono\/node-server/,
    allowed: (file) => roomOf(file) === "service",
  },
];

describe.each(ABSENCES)("the sources never $what", ({ pattern, allowed }) => {
  test("", () => {
    const found = files.filter(
      (file) => !allowed(file) && pattern.test(readFileSync(file, "utf8")),
    );
    expect(found.map(nameOf)).toEqual([]);
  });
});
