/**
 * The learning rate as a function of the step, so that a resumed run needs no scheduler state.
 *
 * A warm-up rises from 0, which is the rate of the first step: veRL counts its schedule from 0.
 */

/** The course of a learning rate. */
export interface Schedule {
  lr: number;
  type: "constant" | "cosine" | "linear";
  warmupSteps: number;
  totalSteps: number;
  /** The last rate as a share of `lr`. */
  minLrRatio: number;
  /** Waves of the cosine. */
  numCycles: number;
}

/** The learning rate of a step, counted from 1. */
export function learningRate(schedule: Schedule, step: number): number {
  const { lr, type, warmupSteps, totalSteps, minLrRatio, numCycles } = schedule;
  const index = step - 1;
  if (index < warmupSteps) return (lr * index) / Math.max(1, warmupSteps);
  const progress = (index - warmupSteps) / Math.max(1, totalSteps - warmupSteps);
  switch (type) {
    case "constant":
      return lr;
    case "linear":
      return lr * (1 - (1 - minLrRatio) * Math.min(1, progress));
    case "cosine": {
      const wave = Math.cos(Math.PI * numCycles * 2 * progress);
      return lr * Math.max(minLrRatio, wave * ((1 - minLrRatio) / 2) + (1 + minLrRatio) / 2);
    }
  }
}
