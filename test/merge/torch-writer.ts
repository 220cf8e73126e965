/**
 * Writes torch.save files for tests: a pickle of protocol 2 in a zip of stored entries, with the
 * names that torch uses. Hostile variants come from the same parts, bent in one place.
 */
import { writeFileSync } from "node:fs";
import { crc32 } from "node:zlib";

/** A tensor to be saved. */
export interface TensorSpec {
  kind: "tensor" | "dtensor";
  shape: number[];
  data: number[];
  /** Placements such as `shard(0)` or `replicate`, one per mesh dimension; DTensors only. */
  placements?: string[];
  globalShape?: number[];
  mesh?: number[];
}

/** One entry of an archive. */
export interface ArchiveEntry {
  name: string;
  bytes: Buffer;
}

const text = (value: string) => {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([Buffer.from("X"), length, bytes]);
};
const integer = (value: number) => {
  const bytes = Buffer.alloc(5);
  bytes[0] = 0x4a; // BININT
  bytes.writeInt32LE(value, 1);
  return bytes;
};
const code = (source: string) => Buffer.from(source, "latin1");
const global = (module: string, name: string) => code(`c${module}\n${name}\n`);
const tuple = (items: Buffer[]) => Buffer.concat([code("("), ...items, code("t")]);
const dict = (items: [Buffer, Buffer][]) => Buffer.concat([code("}("), ...items.flat(), code("u")]);
const call = (callee: Buffer, args: Buffer[]) => Buffer.concat([callee, tuple(args), code("R")]);
const object = (module: string, name: string, state: [string, Buffer][]) =>
  Buffer.concat([
    global(module, name),
    code(")\x81"),
    dict(state.map(([key, value]) => [text(key), value])),
    code("b"),
  ]);
const FALSE = code("\x89");
const NONE = code("N");

const strides = (shape: number[]) =>
  shape.map((_, dim) => shape.slice(dim + 1).reduce((a, b) => a * b, 1));

function storage(key: string, numel: number): Buffer {
  const id = [text("storage"), global("torch", "FloatStorage"), text(key), text("cpu")];
  return Buffer.concat([tuple([...id, integer(numel)]), code("Q")]);
}

function plain({ shape, data }: TensorSpec, key: string): Buffer {
  return call(global("torch._utils", "_rebuild_tensor_v2"), [
    storage(key, data.length),
    integer(0),
    tuple(shape.map(integer)),
    tuple(strides(shape).map(integer)),
    FALSE,
    call(global("collections", "OrderedDict"), []),
  ]);
}

function placement(name: string): Buffer {
  const module = "torch.distributed.tensor.placement_types";
  const dim = /^shard\((\d+)\)$/.exec(name)?.[1];
  if (dim !== undefined) return object(module, "Shard", [["dim", integer(Number(dim))]]);
  return Buffer.concat([global(module, name === "replicate" ? "Replicate" : name), code(")\x81")]);
}

function sharded(spec: TensorSpec, key: string): Buffer {
  const shape = spec.globalShape as number[];
  const mesh = spec.mesh as number[];
  const ranks = Array.from({ length: mesh.reduce((a, b) => a * b, 1) }, (_, rank) => rank);
  const layout = object("torch.distributed._mesh_layout", "_MeshLayout", [
    ["shape", tuple(mesh.map(integer))],
    ["stride", tuple(strides(mesh).map(integer))],
  ]);
  const specState = object("torch.distributed.tensor._dtensor_spec", "DTensorSpec", [
    [
      "mesh",
      object("torch.distributed.device_mesh", "DeviceMesh", [
        ["_layout", layout],
        ["_flatten_rank_map", tuple(ranks.map(integer))],
      ]),
    ],
    ["placements", tuple((spec.placements as string[]).map(placement))],
  ]);
  return call(global("torch._tensor", "_rebuild_from_type_v2"), [
    global("torch._utils", "_rebuild_wrapper_subclass"),
    global("torch.distributed.tensor", "DTensor"),
    tuple([
      global("torch.distributed.tensor", "DTensor"),
      global("torch", "float32"),
      tuple(shape.map(integer)),
      tuple(strides(shape).map(integer)),
      integer(0),
      NONE,
      NONE,
      FALSE,
    ]),
    tuple([
      NONE,
      dict([
        [text("_local_tensor"), plain(spec, key)],
        [text("_spec"), specState],
      ]),
    ]),
  ]);
}

/** Plain data beside the tensors. */
export type PlainData = number | { [key: string]: PlainData };

const plainData = (value: PlainData): Buffer =>
  typeof value === "number"
    ? integer(value)
    : dict(Object.entries(value).map(([key, inner]) => [text(key), plainData(inner)]));

/** The entries of a file that holds this state dict. */
export function torchEntries(
  tensors: Record<string, TensorSpec>,
  extra: Record<string, PlainData> = {},
): ArchiveEntry[] {
  const items = Object.entries(tensors);
  const pickle = Buffer.concat([
    code("\x80\x02"),
    dict([
      ...items.map(([name, spec], index): [Buffer, Buffer] => [
        text(name),
        (spec.kind === "tensor" ? plain : sharded)(spec, String(index)),
      ]),
      ...Object.entries(extra).map(([key, value]): [Buffer, Buffer] => [
        text(key),
        plainData(value),
      ]),
    ]),
    code("."),
  ]);
  return [
    { name: "archive/data.pkl", bytes: pickle },
    { name: "archive/byteorder", bytes: Buffer.from("little") },
    ...items.map(([, { data }], index) => ({
      name: `archive/data/${index}`,
      bytes: Buffer.from(new Float32Array(data).buffer),
    })),
  ];
}

/** Fields of the zip that a test may bend. */
export interface Bend {
  method?: number;
  /** Size that the directory claims for the entry of this name. */
  claim?: { name: string; sizeBytes: number };
  /** Makes the second entry point at the header of the first. */
  overlap?: boolean;
}

/** A zip of stored entries. */
export function zip(entries: ArchiveEntry[], bend: Bend = {}): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [index, { name, bytes }] of entries.entries()) {
    const nameBytes = Buffer.from(name);
    const size = bend.claim?.name === name ? bend.claim.sizeBytes : bytes.length;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(bend.method ?? 0, 8);
    local.writeUInt16LE(nameBytes.length, 26);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(bend.method ?? 0, 10);
    central.writeUInt32LE(crc32(bytes), 16);
    central.writeUInt32LE(size, 20);
    central.writeUInt32LE(size, 24);
    central.writeUInt16LE(nameBytes.length, 28);
    central.writeUInt32LE(bend.overlap && index === 1 ? 0 : offset, 42);
    locals.push(local, nameBytes, bytes);
    directory.push(central, nameBytes);
    offset += local.length + nameBytes.length + bytes.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, listed, end]);
}

/** Saves a state dict, with plain data beside it, under a path. */
export function saveTorch(
  path: string,
  tensors: Record<string, TensorSpec>,
  extra: Record<string, PlainData> = {},
): void {
  writeFileSync(path, zip(torchEntries(tensors, extra)));
}
