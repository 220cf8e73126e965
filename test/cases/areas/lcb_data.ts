/** Area lcb_data: LiveCodeBench's test columns, decoded. */
import { isDeepStrictEqual } from "node:util";
import { decodeLcbTests } from "../../../src/formats/lcb-tests.js";
import type { AreaHandler } from "../case.js";

/** Runs one case. */
export const run: AreaHandler = async ({ id, input, expected }) => {
  const decode = (name: string) => decodeLcbTests(String(input[name]), { path: id });
  const found: Record<string, unknown> = {};
  if ("private_test_cases" in input) found["private"] = decode("private_test_cases");
  if ("public_test_cases" in input) found["public"] = decode("public_test_cases");
  return isDeepStrictEqual(found, expected) ? null : `got ${JSON.stringify(found)}`;
};
