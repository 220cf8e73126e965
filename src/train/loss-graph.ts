/**
 * PPO's losses as graphs, with gradients: what loss.ts defines over plain arrays, on the response
 * tokens of a micro-batch.
 *
 * Shapes: R response tokens of S completions, one after the other; V vocabulary.
 */
import type { Graph, Value } from "../autodiff/graph.js";
import type { LossBuilder } from "../model/trainable.js";
import { type KlKind, LOG_RATIO_LIMIT } from "./kl.js";
import type { PolicyLossOptions } from "./loss.js";

/** What the policy's loss is made of; fixed for a run, hence constants of its graph. */
export interface PolicyLossTerms extends PolicyLossOptions {
  /** Log-probabilities are those of logits divided by this, in the sampler and here. */
  temperature: number;
  entropyCoefficient: number;
  /** KL to the reference policy in the loss; null leaves it out. */
  kl: (KlKind & { coefficient: number }) | null;
}

/**
 * The policy's loss over logits [R, V].
 *
 * Feeds, all [R]: `advantages`, `old_logprobs`, `weights`; `ref_logprobs` with a KL. GSPO also takes
 * `policy_weights` [R], which take the place of `weights` for the policy's term, `averaging` [S, R],
 * whose rows average over a completion, and `sequence_of` [R], the row of each token. Outputs: `logprobs` [R], and `entropies` [R] where the entropy has a coefficient.
 */
export function policyLossGraph(terms: PolicyLossTerms): LossBuilder {
  return (graph, logits, { targets }) => {
    const advantages = graph.input("advantages", "f32", ["R"]);
    const weights = graph.input("weights", "f32", ["R"]);
    const scaled = terms.temperature === 1 ? logits : graph.scale(logits, 1 / terms.temperature);
    const logprobs = graph.tokenLogprob(scaled, targets);
    const outputs: Record<string, Value> = { logprobs };
    const policy = policyTerm(graph, logprobs, advantages, terms);
    const beside: Value[] = [];
    if (terms.entropyCoefficient !== 0) {
      outputs.entropies = graph.entropy(scaled);
      beside.push(graph.scale(outputs.entropies, -terms.entropyCoefficient));
    }
    if (terms.kl !== null) {
      const reference = graph.input("ref_logprobs", "f32", ["R"]);
      const kl = klTerm(graph, logprobs, reference, terms.kl);
      beside.push(graph.scale(kl, terms.kl.coefficient));
    }
    const sum = (values: Value[], by: Value) =>
      graph.reduceSum(
        graph.mul(
          by,
          values.reduce((a, b) => graph.add(a, b)),
        ),
      );
    if (terms.mode !== "gspo") return { loss: sum([policy, ...beside], weights), outputs };
    const own = sum([policy], graph.input("policy_weights", "f32", ["R"]));
    return { loss: beside.length === 0 ? own : graph.add(own, sum(beside, weights)), outputs };
  };
}

function policyTerm(
  graph: Graph,
  logprobs: Value,
  advantages: Value,
  { mode, clipLow, clipHigh, clipC }: PolicyLossOptions,
): Value {
  const old = graph.input("old_logprobs", "f32", ["R"]);
  const difference = graph.sub(logprobs, old);
  const logRatio =
    mode === "gspo"
      ? sequenceLogRatio(graph, logprobs, difference)
      : graph.clip(difference, -LOG_RATIO_LIMIT, LOG_RATIO_LIMIT);
  const ratio = graph.exp(logRatio);
  const clippedRatio = graph.clip(ratio, 1 - clipLow, 1 + clipHigh);
  if (mode === "cispo") {
    const weight = graph.mul(graph.stopGradient(clippedRatio), advantages);
    return graph.neg(graph.mul(weight, logprobs));
  }
  const plain = graph.neg(graph.mul(advantages, ratio));
  const clipped = graph.neg(graph.mul(advantages, clippedRatio));
  const upper = graph.max(plain, clipped);
  if (mode === "gspo") return upper;
  const bounded = graph.min(upper, graph.scale(advantages, -clipC));
  return graph.where(graph.compare("less", advantages, graph.scalar(0)), bounded, upper);
}

/** The mean log-ratio of the completion as a value, with the gradient of the token's own. */
function sequenceLogRatio(graph: Graph, logprobs: Value, difference: Value): Value {
  const averaging = graph.input("averaging", "f32", ["S", "R"]);
  const sequenceOf = graph.input("sequence_of", "i64", ["R"]);
  const column = graph.reshape(graph.stopGradient(difference), ["R", 1]);
  const means = graph.gatherRows(graph.matmul(averaging, column), sequenceOf);
  const own = graph.sub(logprobs, graph.stopGradient(logprobs));
  return graph.clip(graph.add(own, graph.reshape(means, ["R"])), -1e30, 10);
}

function klTerm(graph: Graph, logprobs: Value, reference: Value, kind: KlKind): Value {
  const difference = graph.sub(logprobs, reference);
  const halfSquare = () => graph.scale(graph.mul(difference, difference), 0.5);
  const value = () => {
    switch (kind.estimator) {
      case "k1":
        return difference;
      case "k2":
        return halfSquare();
      case "abs":
        return graph.mul(difference, signOf(graph, difference));
      case "k3": {
        const d = graph.clip(graph.neg(difference), -LOG_RATIO_LIMIT, LOG_RATIO_LIMIT);
        return graph.clip(graph.sub(graph.sub(graph.exp(d), d), graph.scalar(1)), -10, 10);
      }
    }
  };
  if (!kind.straightThrough) return value();
  const k2 = halfSquare();
  return graph.add(graph.sub(k2, graph.stopGradient(k2)), graph.stopGradient(value()));
}

/** −1, 0 or 1, without a gradient. */
function signOf(graph: Graph, x: Value): Value {
  const [zero, one] = [graph.scalar(0), graph.scalar(1)];
  const negative = graph.where(graph.compare("less", x, zero), graph.scalar(-1), zero);
  return graph.where(graph.compare("greater", x, zero), one, negative);
}

/**
 * The critic's loss over values [R]: half the larger of two squares, the second with the value kept
 * near the one at rollout time.
 *
 * Feeds, all [R]: `old_values`, `returns`, `weights`. Output: `values` [R].
 */
export function valueLossGraph(clipRange: number): LossBuilder {
  return (graph, values) => {
    const old = graph.input("old_values", "f32", ["R"]);
    const returns = graph.input("returns", "f32", ["R"]);
    const weights = graph.input("weights", "f32", ["R"]);
    const range = graph.scalar(clipRange);
    const clipped = graph.min(graph.max(values, graph.sub(old, range)), graph.add(old, range));
    const square = (value: Value) => {
      const error = graph.sub(value, returns);
      return graph.mul(error, error);
    };
    const larger = graph.max(square(values), square(clipped));
    const loss = graph.scale(graph.reduceSum(graph.mul(weights, larger)), 0.5);
    return { loss, outputs: { values } };
  };
}
