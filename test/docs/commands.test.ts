/**
 * Every command block of the docs, run in a folder that holds what the page takes for granted.
 *
 * A new block runs as it stands; what cannot is a line in exceptions.ts, with the reason.
 */
import { readdirSync, readFileSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answerChat, FakeEndpoint } from "../eval/fakes.js";
import { FakeHub } from "../eval/fake-hub.js";
import { type Block, blocksOf, commandsOf } from "./blocks.js";
import { EXCEPTIONS, SHORT } from "./exceptions.js";
import { addRun, readStarter, writeInputs } from "./inputs.js";
import * as project from "./project.js";

const pages = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "examples/README.md"].concat(
  readdirSync(project.inProject("docs"), { recursive: true })
    .map((name) => `docs/${String(name)}`)
    .filter((name) => name.endsWith(".md") && !name.startsWith("docs/api/"))
    .sort(),
);
const textOf = (page: string) => readFileSync(project.inProject(page), "utf8");
/** Blocks that test/service/docs.test.ts runs, by the marker above them. */
const isRunElsewhere = (page: string, block: Block) =>
  /^<!-- run: \w+ -->$/.test(textOf(page).split("\n")[block.line - 3] ?? "");
const withCommands = pages
  .map((page) => ({
    page,
    commands: blocksOf(textOf(page))
      .filter((block) => !isRunElsewhere(page, block))
      .flatMap(commandsOf)
      .flatMap((command) => command.split(" && ")),
  }))
  .filter(({ commands }) => commands.length > 0);

let root = "";
let tools: project.Toolbox;
let endpoint: FakeEndpoint;
let hub: FakeHub;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "rlvr-commands-"));
  tools = await project.makeToolbox(root);
  const { eurus } = await readStarter();
  endpoint = new FakeEndpoint((_, response) => answerChat(response, "#### 42"));
  hub = new FakeHub("PRIME-RL/Eurus-2-RL-Data", {
    "train.jsonl": eurus.train,
    "validation.jsonl": eurus.validation,
  });
  const [ENDPOINT, HF_ENDPOINT] = await Promise.all([endpoint.open(), hub.open()]);
  environment = { ENDPOINT, HF_ENDPOINT, SECRET: "s" };
  // One run for every page that looks at one.
  const base = join(root, "base");
  await writeInputs(base);
  await run(
    "rlvr prepare eurus.jsonl --limit all --out rows && mv rows/train*.parquet train.parquet",
    base,
  );
  await run(
    "rlvr prepare validation.jsonl --limit all --out rows2 && mv rows2/train*.parquet validation.parquet",
    base,
  );
  await run("cp train.parquet eurus.parquet && rm -r rows rows2", base);
  await run(`npx rlvr train --out trained ${SHORT}`, base);
  await addRun(base, join(base, "trained"));
}, 300_000);
afterAll(async () => {
  await Promise.all([endpoint?.close(), hub?.close()]);
  await rm(root, { recursive: true, force: true });
});

function placeOf(cwd: string) {
  const home = join(cwd, "home");
  const env = { ...project.environmentOf(tools, home), ...environment };
  return { cwd, env: { ...env, PATH: `${join(home, "bin")}:${env.PATH}` } };
}

/** Runs a command that has to end with 0. */
async function run(command: string, cwd: string): Promise<void> {
  const { code, stdout, stderr } = await project.shell(command, placeOf(cwd));
  if (code !== 0) throw new Error(`$ ${command}\nexit code ${code}\n${stdout}${stderr}`);
}

/** Carries out one command of a page, or what stands for it; answers the exception it met. */
async function carryOut(command: string, cwd: string): Promise<void> {
  const exception = EXCEPTIONS.find(({ match }) => match.test(command));
  switch (exception?.kind) {
    case undefined:
      return run(command, cwd);
    case "elsewhere":
      return exception.check(command);
    case "altered": {
      const altered = exception.as(command);
      return altered.startsWith("rlvr serve ") ? serve(altered, cwd) : run(altered, cwd);
    }
    case "service":
      return serve(command, cwd);
  }
}

async function serve(command: string, cwd: string): Promise<void> {
  const isSocket = command.includes("--socket");
  const free = isSocket ? command : `${command.replace(/ --port \d+/, "")} --port 0`;
  const { code, stderr } = await project.whileServing(free, placeOf(cwd));
  if (code !== 0) throw new Error(`$ ${free}\nexit code ${code}\n${stderr}`);
}

describe("the commands of", () => {
  test.each(withCommands)("$page", { timeout: 300_000 }, async ({ page, commands }) => {
    const dir = join(root, page.replaceAll("/", "-"));
    await cp(join(root, "base"), dir, { recursive: true });
    if (page === "docs/commands/eval.md")
      await cp(join(dir, "my-model"), join(dir, "merged"), { recursive: true });
    for (const command of commands) {
      const started = Date.now();
      await carryOut(command, dir);
      if (process.env["DOCS_TIMES"])
        process.stderr.write(`TIME ${Date.now() - started} ${page} ${command}\n`);
    }
    await rm(dir, { recursive: true });
  });
});

test("every exception stands for a command that is still there", () => {
  const commands = withCommands.flatMap((each) => each.commands);
  const unused = EXCEPTIONS.filter(({ match }) => !commands.some((command) => match.test(command)));
  expect(unused.map(({ match }) => match.source)).toEqual([]);
});
