/** Known failures, by the lines that veRL, torch and Ray print for them. */
import { describe, expect, test } from "vitest";
import { explainFailure } from "./failures.js";

describe("memory that ran out", () => {
  test.each([
    [
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 79.11 GiB",
      "a GPU",
    ],
    ["torch.cuda.OutOfMemoryError: HIP out of memory", "a GPU"],
    ["ray.exceptions.RayTaskError(OutOfMemoryError): ray::WorkerDict.update_actor()", "a GPU"],
    [
      "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
      "the machine",
    ],
    [
      "Memory on the node (IP: 10.0.0.1, ID: 5f) where the task was running was 121.4GB / 128GB (0.95%)",
      "the machine",
    ],
  ])("%s", (line, whose) => {
    const failure = explainFailure(["some line", line, "ray.exceptions.ActorDiedError"]);
    expect(failure?.what).toMatch(new RegExp(`^${whose}.* ran out of`));
    // What one cures makes the other worse.
    expect(failure?.cure).toMatch(whose === "a GPU" ? /switch on offloading/ : /offload off/);
  });
});
