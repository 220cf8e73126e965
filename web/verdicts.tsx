/**
 * How verdicts look: a colour that stays apart for colour-blind eyes, and a shape that needs none.
 * Colours are Okabe and Ito's, darkened or lightened to stand on either background.
 */
import type { VerdictKind } from "../src/core/verdict.js";

/** Sign and words of each verdict; colours are CSS variables `--verdict-KIND`. */
export const VERDICTS: Record<VerdictKind, { sign: string; label: string }> = {
  accepted: { sign: "✓", label: "accepted" },
  wrong_answer: { sign: "✗", label: "wrong answer" },
  runtime_error: { sign: "!", label: "runtime error" },
  time_limit: { sign: "◷", label: "time limit" },
  memory_limit: { sign: "▣", label: "memory limit" },
  output_limit: { sign: "≡", label: "output limit" },
  compile_error: { sign: "⌁", label: "compile error" },
  no_program: { sign: "∅", label: "no program" },
  bad_problem: { sign: "?", label: "bad problem" },
};

/** A verdict as a small mark with its words. */
export function VerdictMark({ kind, short }: { kind: VerdictKind; short?: boolean }) {
  const { sign, label } = VERDICTS[kind];
  return (
    <span class={`verdict verdict-${kind}`} title={label}>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      {short === true ? <span class="hidden">{label}</span> : label}
    </span>
  );
}
