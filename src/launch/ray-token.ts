/**
 * The token with which a Ray cluster is asked, looked for where Ray itself looks for it. Clusters of
 * Ray 2.59 and later may refuse whoever has none.
 *
 * Source: Ray 2.60, "Ray token authentication".
 */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../core/errors.js";

/**
 * Finds the token; null where there is none, or where the environment switches tokens off.
 *
 * @throws {ConfigError} if RAY_AUTH_TOKEN_PATH names a file that cannot be read.
 */
export async function findRayToken(environment: NodeJS.ProcessEnv): Promise<string | null> {
  const { RAY_AUTH_MODE: mode, RAY_AUTH_TOKEN: token, RAY_AUTH_TOKEN_PATH: named } = environment;
  if (mode === "disabled") return null;
  if (token) return token;
  const path = named ?? join(environment.HOME ?? homedir(), ".ray", "auth_token");
  try {
    return (await readFile(path, "utf8")).trim() || null;
  } catch (cause) {
    if (named === undefined && (cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new ConfigError(`ray: the token file ${path} cannot be read`, { cause });
  }
}
