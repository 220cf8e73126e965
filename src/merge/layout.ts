/**
 * Where every rank's piece of a tensor belongs in the whole: the arithmetic of device meshes.
 *
 * A placement of kind `shard` cuts one dimension into the mesh dimension's number of chunks of
 * ⌈size / chunks⌉, so that the last chunks may be shorter or empty (torch.chunk's rule). Ranks of a
 * `replicate` dimension hold equal copies; so do plain tensors (buffers) on every rank.
 */
import { CheckpointError } from "../core/errors.js";
import type { TensorDtype, TorchDTensor, TorchTensor } from "../formats/torch-values.js";

/** One rank's piece: a box of the whole tensor and the local tensor that holds it. */
export interface Part {
  rank: number;
  local: TorchTensor;
  /** First index of the box, per dimension of the whole. */
  start: number[];
  size: number[];
}

/** A whole tensor, described by the pieces that it is put together from. */
export interface MergedTensor {
  name: string;
  dtype: TensorDtype;
  shape: number[];
  /** Boxes that cover the whole without overlap, in row-major order of their starts. */
  parts: Part[];
  /** Further copies of parts on other ranks; they must hold the same bytes. */
  replicas: { of: Part; copy: Part }[];
}

type ShardTensor = TorchTensor | TorchDTensor;

/**
 * Lays out one tensor from what each rank holds of it, rank 0 first.
 *
 * @throws {CheckpointError} if the ranks disagree, a piece has another size than its place, or the
 * placement is not supported.
 */
export function layOutTensor(name: string, byRank: ShardTensor[]): MergedTensor {
  const first = byRank[0];
  for (const [rank, tensor] of byRank.entries()) checkAgreement({ name, first, tensor, rank });
  const merged: MergedTensor = {
    name,
    dtype: localOf(first).dtype,
    shape: first.shape,
    parts: [],
    replicas: [],
  };
  const known = new Map<string, Part>();
  for (const [rank, tensor] of byRank.entries()) {
    const part = placePart({ name, tensor, rank, worldSize: byRank.length });
    if (part.size.includes(0)) continue;
    const box = part.start.join();
    const same = known.get(box);
    if (same === undefined) merged.parts.push(part);
    else merged.replicas.push({ of: same, copy: part });
    known.set(box, same ?? part);
  }
  merged.parts.sort((a, b) => compareStarts(a.start, b.start));
  return merged;
}

const localOf = (tensor: ShardTensor) => (tensor.kind === "tensor" ? tensor : tensor.local);

function compareStarts(a: number[], b: number[]): number {
  const dim = a.findIndex((value, index) => value !== b[index]);
  return dim === -1 ? 0 : a[dim] - b[dim];
}

function checkAgreement(the: {
  name: string;
  first: ShardTensor;
  tensor: ShardTensor;
  rank: number;
}): void {
  const describe = (tensor: ShardTensor) =>
    `${tensor.kind} ${localOf(tensor).dtype} [${tensor.shape}]` +
    (tensor.kind === "tensor" ? "" : ` ${tensor.placements.map(describePlacement).join(", ")}`);
  const [first, other] = [describe(the.first), describe(the.tensor)];
  if (first !== other) {
    throw new CheckpointError(
      `${the.name}: rank 0 holds a ${first}, rank ${the.rank} a ${other}; the files are not of one checkpoint`,
    );
  }
}

const describePlacement = (placement: TorchDTensor["placements"][number]) =>
  placement.kind === "shard" ? `shard(${placement.dim})` : placement.kind;

function placePart(the: {
  name: string;
  tensor: ShardTensor;
  rank: number;
  worldSize: number;
}): Part {
  const { name, tensor, rank } = the;
  const start = tensor.shape.map(() => 0);
  const size = [...tensor.shape];
  if (tensor.kind === "dtensor") {
    const coordinate = coordinateOf(the.name, tensor, the);
    for (const [meshDim, placement] of tensor.placements.entries()) {
      if (placement.kind === "replicate") continue;
      if (placement.kind === "unsupported" || !(placement.dim < size.length)) {
        const what = placement.kind === "shard" ? `shard(${placement.dim})` : placement.name;
        throw new CheckpointError(
          `${name}: placement ${what} is not supported (expected Shard or Replicate, as FSDP and ` +
            "HSDP write them); merge tensor-parallel checkpoints with the trainer's own tool",
        );
      }
      const chunk = Math.ceil(size[placement.dim] / tensor.mesh.shape[meshDim]);
      const skipped = Math.min(coordinate[meshDim] * chunk, size[placement.dim]);
      start[placement.dim] += skipped;
      size[placement.dim] = Math.min(chunk, size[placement.dim] - skipped);
    }
  }
  const local = localOf(tensor);
  if (!size.includes(0)) checkLocal({ name, rank, local, size });
  return { rank, local, start, size };
}

/** The local tensor must hold the box; more rows than that are padding of an uneven shard. */
function checkLocal(the: { name: string; rank: number; local: TorchTensor; size: number[] }): void {
  const { shape } = the.local;
  if (shape.length === the.size.length && the.size.every((n, dim) => n <= shape[dim])) return;
  throw new CheckpointError(
    `${the.name}: rank ${the.rank} must hold [${the.size}] of it, found [${shape}]; ` +
      "the file belongs to another world size or is incomplete",
  );
}

/** The rank's place on the mesh, per mesh dimension. */
function coordinateOf(
  name: string,
  { mesh }: TorchDTensor,
  { rank, worldSize }: { rank: number; worldSize: number },
): number[] {
  const count = mesh.shape.reduce((a, b) => a * b, 1);
  const index = mesh.ranks === null ? rank : mesh.ranks.indexOf(rank);
  if (count !== worldSize || index < 0) {
    throw new CheckpointError(
      `${name}: rank ${rank} was saved by a mesh of ${count} ranks, but the checkpoint has ` +
        `${worldSize}; files of different world sizes are mixed`,
    );
  }
  return unravel(index, mesh.shape);
}

/** The coordinate of an element counted in row-major order. */
export function unravel(index: number, shape: readonly number[]): number[] {
  let rest = index;
  return shape
    .toReversed()
    .map((size) => {
      const at = rest % size;
      rest = Math.floor(rest / size);
      return at;
    })
    .toReversed();
}
