/** The evaluation itself: samples, scores, resuming, and what counts as missing. */
import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { evaluationPaths, readEvaluation } from "../../src/core/evaluation.js";
import type { Progress } from "../../src/core/progress.js";
import { evaluate, type EvaluateSettings } from "../../src/eval/evaluate.js";
import { fileCompleter } from "../../src/eval/file-completer.js";
import { refuseOther } from "../../src/eval/out-dir.js";
import { FakeCompleter, FakeVerifier, problemsOf, settingsOf } from "./fakes.js";

const temporary = () => mkdtemp(join(tmpdir(), "eval-"));
const rightIf = (isRight: (problemId: string, sample: number) => boolean) =>
  new FakeCompleter(({ problemId, sample }) => (isRight(problemId, sample) ? "right" : "wrong"));

describe("evaluate", () => {
  test("scores samples by problem, with pass@k only for k ≤ n", async () => {
    // p0: 4 of 4 right, p1: 1 of 4, p2 and p3: none.
    const completer = rightIf((id, sample) => id === "p0" || (id === "p1" && sample === 2));
    const { info, samples } = await evaluate({
      completer,
      problems: problemsOf(4),
      verifier: new FakeVerifier(),
      settings: settingsOf({ n: 4, temperature: 1 }),
    });
    expect(samples).toHaveLength(16);
    expect(Object.keys(info.passAtK)).toEqual(["1"]);
    expect(info.passAtK["1"]).toBeCloseTo((1 + 0.25) / 4, 12);
    expect(info).toMatchObject({ passRate: 1.25 / 4, formatRate: 1, verdicts: { accepted: 5 } });
    expect(info.groups["family"]["odd"]).toEqual({
      problems: 2,
      passAt1: 0.125,
      passRate: 0.125,
      format: 1,
    });
    expect(info.groups["source"]).toBeUndefined();
  });

  test("asks a greedy model once a problem, whatever n is", async () => {
    const completer = rightIf(() => true);
    const { info } = await evaluate({
      completer,
      problems: problemsOf(3),
      verifier: new FakeVerifier(),
      settings: settingsOf({ n: 5 }),
    });
    expect(completer.asked).toHaveLength(3);
    expect(info).toMatchObject({ samples: 15, passAtK: { "1": 1, "5": 1 } });
  });

  test("draws anew for each problem, also where two have one prompt", async () => {
    const [first, second] = problemsOf(2);
    const problems = [first, { ...second, prompt: first.prompt }];
    const completer = rightIf((id) => id === "p0");
    const input = { completer, problems, verifier: new FakeVerifier() };
    const { samples } = await evaluate({ ...input, settings: settingsOf({ temperature: 1 }) });
    expect(samples.map(({ verdict }) => verdict)).toEqual(["accepted", "wrong_answer"]);
    await evaluate({ ...input, settings: settingsOf() });
    expect(completer.asked).toHaveLength(2 + 1);
  });

  test("a sandbox that breaks leaves the sample missing, not wrong", async () => {
    const verifier = new FakeVerifier();
    verifier.breaksOn = "wrong";
    const { info } = await evaluate({
      completer: rightIf((id) => id !== "p1"),
      problems: problemsOf(4),
      verifier,
      settings: settingsOf(),
    });
    expect(info).toMatchObject({
      status: "incomplete",
      missing: 1,
      passAtK: { "1": 1 },
      faults: { sandbox: 1 },
    });
  });

  test("tells its progress with the running score", async () => {
    const told: Progress[] = [];
    await evaluate({
      completer: rightIf((id) => id === "p0"),
      problems: problemsOf(2),
      verifier: new FakeVerifier(),
      settings: settingsOf(),
      onProgress: (progress) => told.push(progress),
    });
    expect(told.at(-1)).toMatchObject({ done: 2, total: 2, unit: "samples", note: "right 50.0 %" });
  });
});

describe("the evaluation directory", () => {
  test("is read back as it was", async () => {
    const outDir = await temporary();
    const made = await evaluate({
      completer: rightIf((id) => id === "p0"),
      problems: problemsOf(3),
      verifier: new FakeVerifier(),
      settings: settingsOf({ outDir }),
    });
    expect(await readEvaluation(outDir)).toEqual(made);
  });

  test("lets a second call make and judge nothing again", async () => {
    const outDir = await temporary();
    const completer = rightIf(() => true);
    const verifier = new FakeVerifier();
    const input = {
      completer,
      problems: problemsOf(3),
      verifier,
      settings: settingsOf({ outDir }),
    };
    const first = await evaluate(input);
    const second = await evaluate(input);
    expect(completer.asked).toHaveLength(3);
    expect(verifier.calls).toBe(3);
    expect(second.samples).toEqual(first.samples);
  });

  test("keeps completions when only the judging changes, and judges them again", async () => {
    const outDir = await temporary();
    const completer = rightIf(() => true);
    const verifier = new FakeVerifier();
    const limits = { cpuMs: 1, wallMs: 2, memoryBytes: 3, outputBytes: 4 };
    const input = { completer, problems: problemsOf(3), verifier };
    await evaluate({ ...input, settings: settingsOf({ outDir }) });
    await evaluate({ ...input, settings: settingsOf({ outDir, limits }) });
    expect(completer.asked).toHaveLength(3);
    expect(verifier.calls).toBe(6);
  });

  test("makes everything again for another model", async () => {
    const outDir = await temporary();
    const completer = rightIf(() => true);
    const settings = settingsOf({ outDir });
    const input = { completer, problems: problemsOf(3), verifier: new FakeVerifier(), settings };
    await evaluate(input);
    completer.identity = "fake:2";
    await evaluate(input);
    expect(completer.asked).toHaveLength(6);
  });

  test("survives lines torn by a crash", async () => {
    const outDir = await temporary();
    const completer = rightIf(() => true);
    const settings = settingsOf({ outDir });
    const input = { completer, problems: problemsOf(3), verifier: new FakeVerifier(), settings };
    const first = await evaluate(input);
    const { generations, results } = evaluationPaths(outDir);
    for (const path of [generations, results]) {
      const lines = (await readFile(path, "utf8")).split("\n");
      await writeFile(path, lines.slice(0, 1).join("\n") + "\n");
      await appendFile(path, lines[1].slice(0, 30));
    }
    const second = await evaluate(input);
    expect(completer.asked).toHaveLength(5);
    expect(second.samples).toEqual(first.samples);
    expect(await readEvaluation(outDir)).toEqual(second);
  });

  test("that was cut off leaves no eval.json of the one before", async () => {
    const outDir = await temporary();
    const input = { problems: problemsOf(2), verifier: new FakeVerifier() };
    const settings = settingsOf({ outDir });
    await evaluate({ ...input, completer: rightIf(() => true), settings });
    const failing = new FakeCompleter(() => {
      throw new Error("cut off");
    });
    failing.identity = "fake:2";
    await expect(evaluate({ ...input, completer: failing, settings })).rejects.toThrow("cut off");
    await expect(readEvaluation(outDir)).rejects.toThrow(/readable eval\.json/);
  });

  test("is refused where eval.json speaks of other samples than there are", async () => {
    const outDir = await temporary();
    const input = { problems: problemsOf(2), verifier: new FakeVerifier() };
    await evaluate({ ...input, completer: rightIf(() => true), settings: settingsOf({ outDir }) });
    const { results } = evaluationPaths(outDir);
    await writeFile(results, (await readFile(results, "utf8")).split("\n")[0] + "\n");
    await expect(readEvaluation(outDir)).rejects.toThrow(/expected the 2 samples .* found 1/);
  });

  test("refuses to reuse what is not there", async () => {
    const settings = settingsOf({ reuse: ["no/such/folder"] });
    const input = { problems: problemsOf(1), verifier: new FakeVerifier(), settings };
    await expect(evaluate({ ...input, completer: rightIf(() => true) })).rejects.toThrow(
      /found no no\/such\/folder/,
    );
  });

  test("lends its completions to another evaluation", async () => {
    const [first, second] = [await temporary(), await temporary()];
    const completer = rightIf(() => true);
    const input = { completer, problems: problemsOf(3), verifier: new FakeVerifier() };
    await evaluate({ ...input, settings: settingsOf({ outDir: first }) });
    await evaluate({ ...input, settings: settingsOf({ outDir: second, reuse: [first] }) });
    expect(completer.asked).toHaveLength(3);
  });
});

describe("refuseOther", () => {
  const plan = async (changes: Partial<EvaluateSettings> = {}) => ({
    completer: rightIf(() => true),
    problems: problemsOf(3),
    verifier: new FakeVerifier(),
    settings: settingsOf({ outDir: await temporary(), ...changes }),
  });

  test("takes an empty folder and the same evaluation, also one that was cut off", async () => {
    const same = await plan();
    const outDir = same.settings.outDir as string;
    await refuseOther(outDir, same);
    await refuseOther(join(outDir, "none"), same);
    await evaluate(same);
    await refuseOther(outDir, same);
    await rm(evaluationPaths(outDir).info);
    await refuseOther(outDir, same);
  });

  test("refuses another model or other settings, names them, and says the cure", async () => {
    const first = await plan();
    const outDir = first.settings.outDir as string;
    await evaluate(first);
    const other = await plan({
      n: 2,
      limits: { cpuMs: 1, wallMs: 2, memoryBytes: 3, outputBytes: 4 },
    });
    other.completer.identity = "fake:2";
    await expect(refuseOther(outDir, other)).rejects.toThrow(
      /holds another: model local fake:1, not local fake:2; n 1, not 2; limits null, not \{"cpuMs":1.*--out.*--reuse/,
    );
    await rm(evaluationPaths(outDir).info);
    await expect(refuseOther(outDir, other)).rejects.toThrow(/3 of its 3 samples are of another/);
    await writeFile(evaluationPaths(outDir).info, "{");
    await expect(refuseOther(outDir, first)).rejects.toThrow(/cannot be read.*--out/);
  });
});

describe("fileCompleter", () => {
  test("reads the public shapes of a completions file", async () => {
    const path = join(await temporary(), "c.jsonl");
    const rows = [
      { task_id: "p0", completion: "right" },
      { task_id: "p0", completion: "wrong" },
      { question_id: "p1", code_list: ["right", "right"] },
      { problem_id: "p2", completions: ["wrong", "wrong"], finish: "length" },
    ];
    await writeFile(path, rows.map((row) => JSON.stringify(row) + "\n").join(""));
    const { info } = await evaluate({
      completer: await fileCompleter(path),
      problems: problemsOf(4),
      verifier: new FakeVerifier(),
      settings: settingsOf({ n: 2 }),
    });
    expect(info).toMatchObject({
      status: "incomplete",
      missing: 2,
      settings: { temperature: null },
      passAtK: { "1": 0.5 },
      truncated: 2,
      faults: { not_in_file: 2 },
    });
  });

  test("judges each completion against its own problem, also where prompts are equal", async () => {
    const path = join(await temporary(), "c.jsonl");
    await writeFile(
      path,
      ["right", "wrong", "right"]
        .map((completion, i) => JSON.stringify({ task_id: `p${i}`, completion }) + "\n")
        .join(""),
    );
    const prompt = problemsOf(1)[0].prompt;
    const { samples } = await evaluate({
      completer: await fileCompleter(path),
      problems: problemsOf(3).map((problem) => ({ ...problem, prompt })),
      verifier: new FakeVerifier(),
      settings: settingsOf(),
    });
    expect(samples.map(({ problemId, completion }) => `${problemId} ${completion}`)).toEqual([
      "p0 right",
      "p1 wrong",
      "p2 right",
    ]);
  });

  test("names the line that holds no completion", async () => {
    const path = join(await temporary(), "c.jsonl");
    await writeFile(path, '{"task_id": "p0", "completion": "x"}\n{"task_id": "p1"}\n');
    await expect(fileCompleter(path)).rejects.toThrow(`${path}:2: expected a completion`);
  });
});
