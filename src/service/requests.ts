/** Reading requests: bodies checked against their schema, and who is asking. */
import type { Context } from "hono";
import { getConnInfo } from "@hono/node-server/conninfo";
import type { z } from "zod";
import { ConfigError } from "../core/errors.js";

/**
 * Parses a JSON body.
 *
 * @throws {ConfigError} naming the first field that does not fit.
 */
export async function parseBody<T extends z.ZodType>(c: Context, schema: T): Promise<z.infer<T>> {
  let value: unknown;
  try {
    value = JSON.parse(await c.req.text());
  } catch (cause) {
    if (cause instanceof SyntaxError) {
      throw new ConfigError(`body: expected JSON: ${cause.message}`, { cause });
    }
    throw cause;
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new ConfigError(`${["body", ...issue.path.map(String)].join(".")}: ${issue.message}`);
}

/** Names the client for fair sharing: what it calls itself, else its address. */
export function clientOf(c: Context): string {
  const name = c.req.header("x-client");
  if (name !== undefined) return name;
  try {
    return getConnInfo(c).remote.address ?? "local";
  } catch {
    // Requests made in-process, as tests do, have no connection.
    return "local";
  }
}
