/** The verify service that a launched run uses, started in this process on a Unix socket. */
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { Config } from "../config/schema.js";
import { judgingSettings, verifierSettings } from "../config/settings.js";
import type { Judge } from "../launch/dumps.js";
import { type RunningService, startService } from "../service/server.js";
import { loadCustomReward, withCustomReward } from "../verify/custom-reward.js";
import { openSandbox } from "../verify/sandbox/open.js";
import { createVerifier } from "../verify/verify.js";

/** A running verifier with, where the run needs its own, the service before it. */
export interface VerlService {
  isolation: string;
  /** Judges a completion as the service does. */
  judge: Judge;
  close(): Promise<void>;
}

/**
 * Starts the verifier, and the service on `socket` unless that is null.
 *
 * @throws {ConfigError} if another service listens there.
 */
export async function openVerlService(config: Config, socket: string | null): Promise<VerlService> {
  const settings = verifierSettings(config);
  const { workers, requireIsolation } = settings;
  const sandbox = await openSandbox({ workers, requireIsolation });
  const builtIn = await createVerifier({ ...settings, sandbox });
  const { path, name } = config.reward.custom_reward_function;
  const isOurs = path !== null && !path.endsWith(".py");
  const verifier = isOurs ? withCustomReward(builtIn, await loadCustomReward(path, name)) : builtIn;
  const options = {
    token: null,
    pageToken: null,
    maxBodyBytes: 64 * 2 ** 20,
    concurrency: workers * 2,
    // veRL sends a whole step at once.
    queueCapacity: 100_000,
    deadlineMs: 600_000,
    settings: judgingSettings(config),
  };
  const close = async () => {
    await verifier.close();
    await sandbox.close();
  };
  if (socket !== null) await mkdir(dirname(socket), { recursive: true });
  let service: RunningService | null = null;
  try {
    // A socket that a killed run left is removed; one that answers is somebody's.
    if (socket !== null) service = await startService({ verifier, sandbox, options }, { socket });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    isolation: sandbox.level,
    judge: async (completion, problem) => {
      const result = await verifier.verify({ completion, problem });
      return {
        program: result.extraction.program,
        format: result.extraction.format,
        verdicts: result.tests.map(({ verdict }) => verdict.kind),
        verdict: result.verdict,
        passRate: result.passRate,
      };
    },
    close: async () => {
      await service?.close();
      await close();
    },
  };
}
