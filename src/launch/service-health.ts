/**
 * What a verify service says of itself, held against the config of a run: a service that runs already
 * judges by its own settings, whatever the run's config says.
 */
import { z } from "zod";
import type { Config } from "../config/schema.js";
import { judgingSettings } from "../config/settings.js";
import { ISOLATION_LEVELS } from "../verify/sandbox.js";

/** The part of a service's health that a run depends on. */
export const healthSchema = z.object({
  isolation: z.enum(ISOLATION_LEVELS),
  /** By config key; null where the service does not tell. */
  settings: z
    .record(z.string(), z.union([z.number(), z.string(), z.boolean(), z.null()]))
    .nullable(),
});

/** What a service answered at `/healthz`. */
export type ServiceHealth = z.infer<typeof healthSchema>;

/** Where a service would judge or pay otherwise than the config says, in words; empty where nowhere. */
export function healthDifferences(
  config: Config,
  { isolation, settings }: ServiceHealth,
): string[] {
  const differences: string[] = [];
  const asked = config.verifier.require_isolation;
  if (ISOLATION_LEVELS.indexOf(isolation) < ISOLATION_LEVELS.indexOf(asked)) {
    differences.push(`its isolation is ${isolation}, and verifier.require_isolation ${asked}`);
  }
  for (const [key, wanted] of Object.entries(judgingSettings(config))) {
    const found = settings?.[key];
    if (found !== undefined && found !== wanted) {
      differences.push(`${key} is ${found} there and ${wanted} here`);
    }
  }
  return differences;
}
