/**
 * The three phases of the typical curve: learning the format, learning to write programs that pass,
 * diminishing returns. Read off the curves, so that a chart can mark them.
 *
 * A phase ends when its metric has made most of its rise; a run that never rose has no marks.
 */

/** A mark at the step where a phase begins. */
export interface PhaseMark {
  step: number;
  time: number;
  label: string;
}

/** Share of the whole rise that ends a phase. */
const MOST = 0.85;
/** A smaller rise is noise. */
const LEAST_RISE = 0.1;

/** Finds the phases in thinned, smoothed curves over common steps. */
export function findPhases(curves: {
  steps: number[];
  times: number[];
  format: (number | null)[];
  passRate: (number | null)[];
}): PhaseMark[] {
  const { steps, times } = curves;
  const marks: PhaseMark[] = [];
  const formatEnd = mostRisen(curves.format);
  if (formatEnd !== null) {
    marks.push({ step: steps[0], time: times[0], label: "learning the format" });
    marks.push({ step: steps[formatEnd], time: times[formatEnd], label: "learning to pass" });
  }
  const passEnd = mostRisen(curves.passRate);
  if (passEnd !== null && formatEnd !== null && passEnd > formatEnd) {
    marks.push({ step: steps[passEnd], time: times[passEnd], label: "diminishing returns" });
  }
  return marks;
}

/** Index at which a curve has made most of its rise; null when it does not rise. */
function mostRisen(values: (number | null)[]): number | null {
  const first = values.find((value) => value !== null);
  if (first === undefined || first === null) return null;
  const most = Math.max(...values.filter((value) => value !== null));
  if (most - first < LEAST_RISE) return null;
  const goal = first + MOST * (most - first);
  return values.findIndex((value) => value !== null && value >= goal);
}
