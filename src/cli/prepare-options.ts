/** The flags of `rlvr prepare`, and the options they stand for. */
import { homedir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../core/errors.js";
import type { DedupeMode } from "../prepare/dedupe.js";
import type { PrepareOptions } from "../prepare/prepare.js";
import { CHAPTER_TEMPLATE, CHARACTER_METER, loadTemplate } from "../prepare/prompt.js";
import { tokenizerMeter } from "../prepare/tokens.js";

/** The flags as commander hands them over. */
export interface Flags extends Pick<
  PrepareOptions,
  "source" | "seed" | "maxPromptTokens" | "against"
> {
  validation?: string;
  out?: string;
  limit: number | "all";
  tokenizer?: string;
  template?: string;
  maxTests?: number;
  maxTestBytes?: number;
  dedupe: DedupeMode;
  audit?: true;
  completions?: string;
  band: [number, number];
  show?: string;
  dryRun?: true;
  json?: true;
}

/** Turns flags into options. */
export async function optionsOf(train: string, flags: Flags): Promise<PrepareOptions> {
  const { source, seed, maxPromptTokens, dedupe, against, completions } = flags;
  if (flags.out === undefined && !flags.dryRun) throw new ConfigError("--out is missing");
  const [min, max] = flags.band;
  return {
    train,
    validation: flags.validation ?? null,
    out: flags.out ?? ".",
    source,
    limit: flags.limit === "all" ? null : flags.limit,
    seed,
    maxPromptTokens,
    meter: flags.tokenizer === undefined ? CHARACTER_METER : await tokenizerMeter(flags.tokenizer),
    template: flags.template === undefined ? CHAPTER_TEMPLATE : await loadTemplate(flags.template),
    maxTests: flags.maxTests ?? null,
    maxTestBytes: flags.maxTestBytes ?? null,
    dedupe,
    against,
    audit: flags.audit ?? false,
    profile: completions === undefined ? null : { path: completions, min, max },
    hub: {
      cacheDir: join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "code-rlvr/hub"),
      url: process.env["HF_ENDPOINT"] ?? "https://huggingface.co",
      token: process.env["HF_TOKEN"] ?? null,
    },
  };
}
