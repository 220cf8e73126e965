import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ConfigError } from "../core/errors.js";
import { findRayToken } from "./ray-token.js";

const HOME = mkdtempSync(join(tmpdir(), "ray-token-"));
afterAll(() => rmSync(HOME, { recursive: true, force: true }));

test("the token is looked for where Ray looks: variable, named file, home", async () => {
  const file = join(HOME, "token");
  writeFileSync(file, "named\n");
  expect(await findRayToken({ HOME })).toBeNull();
  mkdirSync(join(HOME, ".ray"));
  writeFileSync(join(HOME, ".ray", "auth_token"), "of home\n");
  expect(await findRayToken({ HOME })).toBe("of home");
  expect(await findRayToken({ HOME, RAY_AUTH_TOKEN_PATH: file })).toBe("named");
  expect(await findRayToken({ HOME, RAY_AUTH_TOKEN_PATH: file, RAY_AUTH_TOKEN: "own" })).toBe(
    "own",
  );
  expect(await findRayToken({ HOME, RAY_AUTH_MODE: "disabled", RAY_AUTH_TOKEN: "own" })).toBeNull();
});

test("a token file that was named and is not there is an error", async () => {
  const missing = findRayToken({ HOME, RAY_AUTH_TOKEN_PATH: join(HOME, "none") });
  await expect(missing).rejects.toThrow(ConfigError);
  await expect(missing).rejects.toThrow(/token file .*none cannot be read/);
});
