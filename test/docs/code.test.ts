/** Code blocks that are not typed into a shell, and the flags that the docs name. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { problemSchema } from "../../src/core/problem.js";
import { loadTemplate } from "../../src/prepare/prompt.js";
import { type Block, blocksOf, spansOf } from "./blocks.js";
import * as project from "./project.js";

interface Found extends Block {
  page: string;
  /** What the comment above the block says of it: `run: NAME` or `from: FILE`. */
  marker: string | null;
}

const pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "examples/README.md"].concat(
  readdirSync(project.inProject("docs"), { recursive: true })
    .map((name) => `docs/${String(name)}`)
    .filter((name) => name.endsWith(".md") && !name.startsWith("docs/api/")),
);
const textOf = (path: string) => readFileSync(project.inProject(path), "utf8");
const found = pages.flatMap((page) => blocksIn(page));
const inLanguage = (...names: string[]) =>
  found
    .filter(({ language }) => names.includes(language))
    .map((block) => ({ ...block, where: `${block.page}:${block.line}` }));

function blocksIn(page: string): Found[] {
  const lines = textOf(page).split("\n");
  return blocksOf(textOf(page)).map((block) => {
    const marker = /^<!-- (.*) -->$/.exec(lines[block.line - 3] ?? "")?.[1] ?? null;
    return { ...block, page, marker };
  });
}

let dir = "";
let tools: project.Toolbox;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "rlvr-code-"));
  tools = await project.makeToolbox(dir);
  await project.makeWorkFolder(join(dir, "work"), tools);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const textOfMessage = (message: string | ts.DiagnosticMessageChain) =>
  ts.flattenDiagnosticMessageText(message, "\n");

/** Runs a TypeScript block. */
async function runBlock({ text }: Block, env: NodeJS.ProcessEnv = {}): Promise<project.Outcome> {
  const cwd = join(dir, "work");
  await writeFile(join(cwd, "block.ts"), text);
  const place = { cwd, env: { ...project.environmentOf(tools, dir), ...env } };
  return project.shell("npx tsx block.ts", place);
}

describe("a block", () => {
  test("has a language that some test takes care of", () => {
    const known = ["", "sh", "console", "text", "ts", "python", "json", "yaml"];
    const others = found.filter(({ language }) => !known.includes(language));
    expect(others.map(({ page, line, language }) => `${page}:${line} ${language}`)).toEqual([]);
  });

  test.each(inLanguage("text"))("of text at $where hides no command", ({ text }) => {
    expect(text).not.toMatch(/^(\$ )?(rlvr|npx|npm|python3?|pip|curl) /m);
  });

  const copied = found.filter(({ marker }) => marker?.startsWith("from: "));
  test.each(copied)("at $page:$line stands in its file as well", ({ marker, text }) => {
    expect(textOf((marker as string).slice("from: ".length))).toContain(`${text}\n`);
  });

  test.each(inLanguage("python"))("of Python at $where is run by a test", ({ marker }) => {
    expect(marker).not.toBeNull();
    const [kind, name] = (marker as string).split(": ");
    if (kind === "from") return expect(existsSync(project.inProject(name))).toBe(true);
    expect(textOf("test/service/docs.test.ts")).toContain(`snippet("${name}")`);
  });

  test.each(inLanguage("json"))("of JSON at $where is a problem", ({ text }) => {
    expect(() => problemSchema.parse(JSON.parse(text))).not.toThrow();
  });

  test.each(inLanguage("yaml"))("of YAML at $where is a template", async ({ text }) => {
    await writeFile(join(dir, "template.yaml"), text);
    await expect(loadTemplate(join(dir, "template.yaml"))).resolves.toBeDefined();
  });

  test("of TypeScript has no type error", async () => {
    const blocks = inLanguage("ts");
    expect(blocks.length).toBeGreaterThan(2);
    const files = blocks.map((_, i) => join(dir, `block${i}.mts`));
    await Promise.all(files.map((file, i) => writeFile(file, blocks[i].text)));
    const program = ts.createProgram(files, {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      moduleDetection: ts.ModuleDetectionKind.Force,
      types: ["node"],
      typeRoots: [project.inProject("node_modules/@types")],
      paths: { "code-rlvr": [project.inProject("src/index.ts")] },
    });
    const errors = files.flatMap((file, i) => {
      const source = program.getSourceFile(file);
      return [
        ...program.getSyntacticDiagnostics(source),
        ...program.getSemanticDiagnostics(source),
      ].map(({ messageText }) => `${blocks[i].where}: ${textOfMessage(messageText)}`);
    });
    expect(errors).toEqual([]);
  });

  test("of the README judges", async () => {
    const [block] = inLanguage("ts").filter(({ page }) => page === "README.md");
    expect((await runBlock(block)).stdout).toBe("accepted 1 1\n");
  });

  test("of SERVICE.md judges through a service", async () => {
    const [block] = inLanguage("ts").filter(
      ({ page, marker }) => page === "docs/SERVICE.md" && marker === null,
    );
    let answer: project.Outcome | null = null;
    const place = { cwd: join(dir, "work"), env: project.environmentOf(tools, dir) };
    await project.whileServing("rlvr serve --port 0 --workers 1", place, async (url) => {
      answer = await runBlock(block, { RLVR_SERVICE: url });
    });
    expect(answer).toMatchObject({ stdout: "1 accepted\n", stderr: "", code: 0 });
  });
});

/** The long flags of each command. */
async function flagsOf(name: string): Promise<string[]> {
  const module = (await import(`../../src/cli/${name}.ts`)) as {
    define(command: Command): unknown;
  };
  const command = new Command(name);
  await module.define(command);
  return command.options.flatMap(({ long }) => (long === undefined ? [] : [long]));
}

const named = (text: string) => new Set(text.match(/--[a-z][a-z-]*/g) ?? []);

describe("the flags", () => {
  const commands = readdirSync(project.inProject("docs/commands")).map((file) =>
    file.slice(0, -".md".length),
  );

  test.each(commands)("of rlvr %s all stand on its page", async (name) => {
    const page = named(textOf(`docs/commands/${name}.md`));
    expect((await flagsOf(name)).filter((flag) => !page.has(flag))).toEqual([]);
  });

  test.each(commands)("in the tables of rlvr %s are real", async (name) => {
    const rows = textOf(`docs/commands/${name}.md`).split("\n");
    const first = rows.filter((row) => row.startsWith("| `")).map((row) => row.split(" | ")[0]);
    const known = [...(await flagsOf(name)), "--help"];
    expect([...named(first.join("\n"))].filter((flag) => !known.includes(flag))).toEqual([]);
  });

  test("that commands in running text have are real", async () => {
    const known = new Map<string, string[]>();
    for (const name of commands) known.set(name, await flagsOf(name));
    const wrong: string[] = [];
    for (const page of pages) {
      for (const span of spansOf(textOf(page))) {
        const name = /^rlvr (\w+)/.exec(span)?.[1];
        if (name === undefined || name === "COMMAND") continue;
        const flags = known.get(name);
        if (flags === undefined) wrong.push(`${page}: ${span}`);
        const unknown = [...named(span)].filter(
          (flag) => !["--help", ...(flags ?? [])].includes(flag),
        );
        if (unknown.length > 0) wrong.push(`${page}: ${span}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});
