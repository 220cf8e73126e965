import { expect, test, vi } from "vitest";
import { LaunchError } from "../core/errors.js";
import type { Job, JobOptions } from "./job.js";
import { startLocal } from "./job.js";
import { askNodes } from "./nodes.js";

const REQUEST = { reward: { path: "/reward.py", name: "compute_score" }, files: [], services: [] };

const ask = (start: (options: JobOptions) => Promise<Job>, timeoutMs = 60_000) =>
  askNodes(REQUEST, { python: "python3", token: "its token", start, timeoutMs });

test("a Python without Ray fails in its own words", async () => {
  // `-S` leaves installed packages out, whatever they are.
  const start = ({ command: { words, environment }, onLine }: JobOptions) => {
    const command = { words: [words[0], "-S", ...words.slice(1)], environment };
    return Promise.resolve(startLocal({ command, onLine }, { environment: process.env }));
  };
  expect(await ask(start)).toEqual({
    failure: "exit code 1: ModuleNotFoundError: No module named 'ray'",
  });
});

test("a Ray that gives no worker is stopped and told", async () => {
  const stop = vi.fn(() => Promise.resolve());
  const start = () => Promise.resolve({ id: "1", ended: new Promise<never>(() => {}), stop });
  expect(await ask(start, 20)).toEqual({ failure: "no worker answered within 0.02 s" });
  expect(stop).toHaveBeenCalledOnce();
});

test("a head that is not there is told, and the token stands in the environment alone", async () => {
  let seen: JobOptions["command"] | null = null;
  const answer = await ask(({ command }) => {
    seen = command;
    return Promise.reject(new LaunchError("ray: no answer from http://head:8265"));
  });
  expect(answer).toEqual({ failure: "ray: no answer from http://head:8265" });
  expect(seen).toMatchObject({ environment: { RLVR_VERIFIER_TOKEN: "its token" } });
  expect(JSON.stringify((seen as JobOptions["command"] | null)?.words)).not.toContain("its token");
});
