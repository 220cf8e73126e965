/**
 * The commands of the docs that the test does not run letter by letter, each with the reason and
 * with what is done instead. Every other command runs as it stands and has to end with exit code 0.
 */
import { existsSync, readFileSync } from "node:fs";
import { inProject } from "./project.js";

/** What is done instead of running a command. */
export type Exception = { match: RegExp; why: string } & (
  | { kind: "altered"; as: (command: string) => string }
  | { kind: "service" }
  | { kind: "elsewhere"; check: (command: string) => void }
);

/** A run of one small step, judged on few problems. */
export const SHORT = [
  "trainer.total_training_steps=1",
  "data.train_batch_size=4",
  "actor_rollout_ref.actor.ppo_mini_batch_size=2",
  "data.val_files=few.jsonl",
  "health.preflight_samples=0",
  "embedded.threads=1",
].join(" ");

const PACKAGES = "would replace the packages that this test runs on";
const ENDLESS = "runs until it is stopped: it is, once it serves, and has to end with 0";

const append = (words: string) => (command: string) => `${command} ${words}`;

/** Looked through in order; the first that matches holds. */
export const EXCEPTIONS: readonly Exception[] = [
  { match: /^npm ci$/, why: PACKAGES, kind: "elsewhere", check: expectFile("package-lock.json") },
  {
    match: /^npm (test|run \S+)/,
    why: "the suite that this test belongs to",
    kind: "elsewhere",
    check: (command) => expectScript(/^npm (?:run )?(\S+)/.exec(command)?.[1] ?? ""),
  },
  {
    match: /^npx vitest run \S+$/,
    why: "part of the suite by itself",
    kind: "elsewhere",
    check: (command) => expectFile(command.split(" ").at(-1) as string)(),
  },
  {
    match: /npm install code-rlvr$/,
    why: "not in a registry; test/package/package.test.ts installs the packed file that way",
    kind: "elsewhere",
    check: expectFile("test/package/package.test.ts"),
  },
  { match: /^(apt-get|pip) install /, why: PACKAGES, kind: "elsewhere", check: () => {} },
  {
    match: /^test\/venvs\.sh /,
    why: "downloads gigabytes",
    kind: "elsewhere",
    check: (command) => {
      const script = readFileSync(inProject("test/venvs.sh"), "utf8");
      for (const name of command.split(" ").slice(1)) expectText(script, name);
    },
  },
  {
    match: /\bdocker (build|run|compose) /,
    why: "needs a container engine; test/package/container.test.ts serves as the container would",
    kind: "elsewhere",
    check: (command) => expectFile(command.includes("compose") ? "compose.yaml" : "Dockerfile")(),
  },
  {
    match: /^evalscope eval /,
    why: "another program, with models from the hub",
    kind: "elsewhere",
    check: () => {},
  },
  {
    match: /^python3 -m verl\.trainer\.main_ppo /,
    why: "needs GPUs; test/verl resolves the keys with veRL and test/service runs the reward file",
    kind: "elsewhere",
    check: (command) => {
      expectFile("python/verl_reward.py")();
      const launcher = readFileSync(inProject("src/launch/overrides.ts"), "utf8");
      expectText(launcher, "custom_reward_function");
      expectText(command, "custom_reward_function.name=compute_score");
    },
  },
  {
    match: /^rlvr import /,
    why: "no GGUF of a whole model is in the repository; test/slow compares an import with transformers",
    kind: "altered",
    // What is left to see: the flags are known, and the missing file is named.
    as: (command) => `${command} 2>&1 | grep -q 'model.gguf: expected a GGUF file'`,
  },
  {
    match: /\bengine=verl\b|--preset qwen/,
    why: "needs GPUs; a stand-in for veRL's Python answers what --dry-run and doctor ask",
    kind: "altered",
    as: (command) =>
      command.startsWith("rlvr doctor") || command.includes("--dry-run")
        ? command.replace(/$/, withStandIn(command))
        : `${command} --dry-run${withStandIn(command)}`,
  },
  {
    match: /^rlvr train\b.*models\/smollm2-135m/s,
    why: "no model of 135M parameters is in the repository",
    kind: "altered",
    as: (command) =>
      `${command.replace("models/smollm2-135m", inProject("starter/model"))} ${SHORT}`,
  },
  {
    match: /^(npx )?rlvr train\b(?!.*--dry-run)/,
    why: "minutes: one small step instead, with the evaluations before and after",
    kind: "altered",
    as: append(SHORT),
  },
  {
    match: /^rlvr eval starter --model/,
    why: "280 problems: two of them, and the checkpoint that the short run has",
    kind: "altered",
    as: (command) => `${command.replace("step_000075", "step_000001")} --limit 2`,
  },
  {
    match: /^rlvr eval .*--model \.\/merged/,
    why: "the model is the starter's, which has 256 positions",
    kind: "altered",
    as: append("--max-tokens 16"),
  },
  {
    match: /^rlvr init$/,
    why: "asks on a terminal; here it is told, and writes another file than its neighbours",
    kind: "altered",
    as: append("--for laptop --yes --out asked.yaml"),
  },
  {
    match: /127\.0\.0\.1:8000/,
    why: "the model server is a small one of the test's own",
    kind: "altered",
    as: (command) => command.replace("http://127.0.0.1:8000/v1", "$ENDPOINT"),
  },
  {
    match: /--show codeforces\/3f2a9c81d0e4$|--problem ID\b/,
    why: "stands for an id of the reader's own data",
    kind: "altered",
    as: (command) =>
      command
        .replace(
          "codeforces/3f2a9c81d0e4",
          `"$(grep -o '"id":"[^"]*"' data/train*.jsonl | head -1 | cut -d'"' -f4)"`,
        )
        .replace(/\bID\b/, "starter/train/factorial/9"),
  },
  {
    match: /^rlvr serve .*--socket \/run\//,
    why: `needs the right to write there: a socket in the folder instead; ${ENDLESS}`,
    kind: "altered",
    as: (command) => command.replace("/run/rlvr.sock", "rlvr.sock"),
  },
  { match: /^rlvr serve\b/, why: ENDLESS, kind: "service" },
];

function withStandIn(command: string): string {
  return command.includes("launch.python=") ? "" : " launch.python=$HOME/verl/bin/python";
}

function expectFile(path: string): () => void {
  return () => {
    if (!existsSync(inProject(path))) throw new Error(`expected the project to have ${path}`);
  };
}

function expectScript(name: string): void {
  const { scripts } = JSON.parse(readFileSync(inProject("package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  if (!(name in scripts)) throw new Error(`package.json has no script ${name}`);
}

function expectText(text: string, part: string): void {
  if (!text.includes(part)) throw new Error(`expected ${part} in ${text.slice(0, 200)}`);
}
