/** The snippets of docs/SERVICE.md, as they stand there, against a real service. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { groundTruthOf } from "../../src/formats/verl-rows.js";
import { venvPython } from "../merge/venv.js";
import { ADD, completionOf, inProject, serve, type ServeProcess } from "./serve-process.js";

const call = promisify(execFile);
const torch = venvPython("verl09");

/** The fenced block after `<!-- run: NAME -->`. */
function snippet(name: string): string {
  const text = readFileSync(inProject("docs/SERVICE.md"), "utf8");
  const found = new RegExp(`<!-- run: ${name} -->\\n\`\`\`\\w+\\n([^]*?)\\n\`\`\`\\n`).exec(text);
  if (found === null) throw new Error(`docs/SERVICE.md has no snippet ${name}`);
  return found[1];
}

describe("docs/SERVICE.md", () => {
  let dir = "";
  let service: ServeProcess;
  let options: { env: NodeJS.ProcessEnv; maxBuffer: number };
  const fileOf = (name: string, text: string) => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "rlvr-docs-"));
    service = await serve("--workers", "2");
    const env = { ...process.env, RLVR_SERVICE: service.url, CUDA_VISIBLE_DEVICES: "" };
    options = { env: { ...env, HF_HUB_OFFLINE: "1" }, maxBuffer: 2 ** 26 };
  });
  afterAll(async () => {
    await service?.stop("SIGTERM");
    rmSync(dir, { recursive: true, force: true });
  });

  test("plain Python prints what it says", async () => {
    const file = fileOf("plain.py", snippet("python"));
    expect((await call("python3", [file], options)).stdout).toBe("1 accepted\n0.5 wrong_answer\n");
  });

  test("curl answers what it says", async () => {
    const { stdout } = await call("bash", ["-c", snippet("curl")], options);
    expect(stdout).toMatch(/^\{"score":1,"pass_rate":1,"format":1,"passed":2,"total":2,/);
  });

  test.skipIf(torch === null)("OpenRLHF's reward function scores (venv verl09)", async () => {
    fileOf("reward.py", snippet("openrlhf"));
    const request = fileOf(
      "labels.json",
      JSON.stringify({
        queries: [0, 1, 2].map((i) => "Question. " + completionOf(i).completion),
        label: groundTruthOf(ADD),
      }),
    );
    const code = `
import json, sys
sys.path.insert(0, sys.argv[1])
from reward import reward_func
request = json.load(open(sys.argv[2]))
answer = reward_func(request["queries"], ["Question. "] * 3, [request["label"]] * 3)
print(json.dumps([answer["rewards"].tolist(), answer["extra_logs"]["format"].tolist()]))`;
    const { stdout } = await call(torch as string, ["-c", code, dir, request], options);
    const [rewards, format] = JSON.parse(stdout) as number[][];
    expect(rewards).toEqual([1, Math.fround(1 / 3), 0]);
    expect(format).toEqual([1, 1, 1]);
  });

  test.skipIf(torch === null)(
    "TRL's GRPOTrainer takes a step by examples/trl.py (venv verl09)",
    async () => {
      const problems = fileOf("train.jsonl", `${JSON.stringify(ADD)}\n`.repeat(4));
      const words = [
        inProject("test/service/trl_snippet.py"),
        inProject("examples/trl.py"),
        inProject("starter/model"),
        problems,
      ];
      const { stdout } = await call(torch as string, words, options);
      const answer = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as {
        known: (number | null)[];
        log: Record<string, number>[];
      };
      expect(answer.known).toEqual([1, 1 / 3, 0]);
      expect(answer.log[0]["rewards/verified/mean"]).toBeGreaterThanOrEqual(0);
      expect(answer.log.at(-1)?.["train_loss"]).not.toBeNaN();
    },
    300_000,
  );
});
