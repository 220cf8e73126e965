/** The numbers of the system calls, held against the kernel's own headers. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const FOLDER = fileURLToPath(new URL("../../python/sandbox", import.meta.url));
/** name → [x86-64, arm64] of every table. */
const TABLE = JSON.parse(
  execFileSync("/usr/bin/env", [
    "python3",
    "-c",
    `import sys, json; sys.path.insert(0, ${JSON.stringify(FOLDER)}); sys.dont_write_bytecode = True
import syscalls as s; print(json.dumps({**s.BASE, **s.CHECKED, **s.EXEC, **s.TREE, **s.FILES}))`,
  ]).toString(),
) as Record<string, [number | null, number | null]>;

/** What each machine's header says. The second one is the list that arm64 uses. */
const HEADERS: [string, number, string][] = [
  ["x86-64", 0, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"],
  ["arm64", 1, "/usr/include/asm-generic/unistd.h"],
];

describe.each(HEADERS)("the table of %s", (_, column, header) => {
  const tried = existsSync(header) ? test : test.skip;
  tried("has the numbers of the kernel's header", () => {
    const text = existsSync(header) ? readFileSync(header, "utf8") : "";
    const known = new Map(
      [...text.matchAll(/#define __NR(?:3264)?_(\w+)\s+(\d+)/g)].map(([, name, number]) => [
        // A few calls have another name in the generic list.
        { fstatat: "newfstatat", prlimit: "prlimit64" }[name] ?? name,
        Number(number),
      ]),
    );
    expect(known.size).toBeGreaterThan(200);
    const ours = Object.entries(TABLE).filter(([, numbers]) => numbers[column] !== null);
    expect(ours.length).toBeGreaterThan(100);
    for (const [name, numbers] of ours)
      expect([name, known.get(name)]).toEqual([name, numbers[column]]);
  });
});

describe("the filter", () => {
  test("is refused a machine without a table", () => {
    const script = `import sys; sys.path.insert(0, ${JSON.stringify(FOLDER)}); sys.dont_write_bytecode = True
import seccomp; print(seccomp.build("riscv64", "python"), len(seccomp.build("aarch64", "compile")) % 8)`;
    const said = execFileSync("/usr/bin/env", ["python3", "-c", script]).toString();
    expect(said.trim()).toBe("None 0");
  });
});
