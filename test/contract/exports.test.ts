/** What the package promises: its names and its runtime dependencies. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as library from "../../src/index.js";

const manifest = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as { dependencies: Record<string, string>; exports: Record<string, unknown> };

describe("the package", () => {
  test("exports exactly these names", () => {
    expect(Object.keys(library).sort()).toEqual([
      "CheckpointError",
      "ConfigError",
      "DataError",
      "EVALUATE_DEFAULTS",
      "LaunchError",
      "RlvrError",
      "SandboxError",
      "ShapeError",
      "VERDICT_KINDS",
      "createVerifier",
      "defaultVerifierOptions",
      "describeVerdict",
      "endpointCompleter",
      "evaluate",
      "launch",
      "loadCustomReward",
      "localCompleter",
      "mergeCheckpoint",
      "openSandbox",
      "parseGroundTruth",
      "planPrepare",
      "prepare",
      "problemSchema",
      "resolveConfig",
      "startService",
      "train",
      "withCustomReward",
      "writeReport",
    ]);
  });

  test("opens these doors", () => {
    expect(Object.keys(manifest.exports)).toEqual([
      ".",
      "./verify",
      "./prepare",
      "./train",
      "./eval",
      "./merge",
      "./report",
      "./service",
      "./package.json",
    ]);
  });

  test("needs exactly these packages at run time", () => {
    expect(Object.keys(manifest.dependencies).sort()).toEqual([
      "@hono/node-server",
      "@huggingface/hub",
      "@huggingface/jinja",
      "@huggingface/tokenizers",
      "commander",
      "hono",
      "hyparquet",
      "hyparquet-compressors",
      "hyparquet-writer",
      "jiti",
      "onnxruntime-node",
      "prom-client",
      "yaml",
      "zod",
    ]);
  });
});
