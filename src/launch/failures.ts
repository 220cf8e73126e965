/** Why a run of veRL ended badly, read from its last lines: the known ways, each with its cure. */

/** A known way to fail. */
export interface FailurePattern {
  pattern: RegExp;
  what: string;
  cure: string;
}

/** Known failures, the most telling first. */
export const FAILURES: readonly FailurePattern[] = [
  {
    pattern: /No module named '?transfer_queue/,
    what: "veRL's default trainer needs TransferQueue",
    cure: "install it into that Python: pip install 'TransferQueue>=0.1.10'",
  },
  {
    pattern: /is not in struct|Could not override|ConfigCompositionException/,
    what: "veRL's configuration has no such key",
    cure: "check launch.extra_overrides; rlvr doctor engine=verl compares the rest",
  },
  {
    pattern: /Reward function is not implemented for data_source/,
    what: "veRL did not use the reward function",
    cure: "leave the reward keys to the launcher; custom_reward_function.* at the top is ignored",
  },
  {
    pattern: /VerifierUnavailable/,
    what: "no verify service could judge a sample",
    cure: "look at the service's log; start one on every node and list them in verifier.urls",
  },
  {
    pattern:
      /ray\.exceptions\.OutOfMemoryError|running low on memory|Memory on the node .* was .*%|killed by the memory monitor/i,
    what: "the machine ran out of main memory and Ray killed a worker",
    cure:
      "switch fsdp_config.param_offload and optimizer_offload off, save fewer checkpoint contents, or " +
      "use a machine with more main memory",
  },
  {
    pattern: /CUDA out of memory|(?<!ray\.exceptions\.)OutOfMemoryError|cumem_allocator/,
    what: "a GPU ran out of memory",
    cure:
      "lower actor_rollout_ref.rollout.gpu_memory_utilization (0.3) and " +
      "actor_rollout_ref.actor.ppo_max_token_len_per_gpu, or switch on offloading",
  },
  {
    pattern: /NodeDiedError|node .* (died|was lost)|The node .* has been marked dead/i,
    what: "a node of the cluster was lost",
    cure: "start the same command again: it goes on from the newest checkpoint",
  },
  {
    pattern: /ActorDiedError|RayActorError|WorkerCrashedError/,
    what: "a worker process died",
    cure: "look for its last words above it in the log; start again to go on from the checkpoint",
  },
  {
    pattern: /NCCL error|ncclUnhandled|Watchdog caught collective operation timeout/,
    what: "GPUs lost each other",
    cure: "check that no other job uses them; start again to go on from the newest checkpoint",
  },
];

/** The first known failure in these lines; null if none is known. */
export function explainFailure(lines: readonly string[]): FailurePattern | null {
  const text = lines.join("\n");
  return FAILURES.find(({ pattern }) => pattern.test(text)) ?? null;
}
