/**
 * What the names in a torch checkpoint mean: the allow-list of its pickle.
 *
 * Tensors become views that say where their bytes lie. A DTensor (one rank's share of a sharded
 * parameter) keeps its global shape, its placements and its mesh; every other class that a
 * checkpoint may hold is an opaque bag. A class or function that is not in the tables below is
 * refused by name.
 *
 * Covered: FSDP1, FSDP2 and HSDP state dicts. Not covered: quantized and sparse tensors.
 * Source: torch/_utils.py, torch/_tensor.py, torch/distributed/tensor (torch 2.5 to 2.15).
 */
import type { PickleGlobal, PickleValue } from "./pickle.js";
import type { ZipEntry } from "./zip.js";

/** Element types, by the names that safetensors gives them. */
export type TensorDtype = keyof typeof DTYPE_BYTES;

/** Bytes of one element. */
export const DTYPE_BYTES = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  F8_E4M3: 1,
  F8_E5M2: 1,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U64: 8,
  U32: 4,
  U16: 2,
  U8: 1,
  BOOL: 1,
} as const;

/** A strided view of a storage. */
export interface TorchTensor {
  kind: "tensor";
  dtype: TensorDtype;
  shape: number[];
  /** In elements, one per dimension. */
  stride: number[];
  /** First element, counted from the start of the storage. */
  offset: number;
  storage: TorchStorage;
}

/** The bytes that tensors look into: one entry of the archive. */
export interface TorchStorage {
  key: string;
  entry: ZipEntry;
}

/** How a tensor lies along one dimension of the mesh. */
export type Placement =
  { kind: "shard"; dim: number } | { kind: "replicate" } | { kind: "unsupported"; name: string };

/** One rank's share of a tensor that is spread over a mesh of ranks. */
export interface TorchDTensor {
  kind: "dtensor";
  /** Shape of the whole tensor. */
  shape: number[];
  local: TorchTensor;
  /** One per dimension of the mesh. */
  placements: Placement[];
  mesh: TorchMesh;
}

/** The grid of ranks. */
export interface TorchMesh {
  shape: number[];
  /** Names of the dimensions, e.g. `ddp`, `fsdp`; null where the file names none. */
  names: string[] | null;
  /** Ranks in row-major order of the grid; null where the file keeps them in a tensor only. */
  ranks: number[] | null;
}

/** An object of a class that no reader here needs. */
export class OpaqueObject {
  readonly className: string;
  readonly args: PickleValue[];
  state: PickleValue = null;

  constructor(className: string, args: PickleValue[]) {
    this.className = className;
    this.args = args;
  }
}

/** Ends the reading of a file, naming it. */
export type Fail = (message: string) => never;

/** A storage as the pickle names it: typed (`torch.FloatStorage`) or bare bytes. */
export interface StorageRef {
  storage: TorchStorage;
  /** Null for bare bytes, whose element type comes with the tensor. */
  dtype: TensorDtype | null;
}

const STORAGE_CLASSES: Record<string, TensorDtype | null> = {
  "torch.DoubleStorage": "F64",
  "torch.FloatStorage": "F32",
  "torch.HalfStorage": "F16",
  "torch.BFloat16Storage": "BF16",
  "torch.LongStorage": "I64",
  "torch.IntStorage": "I32",
  "torch.ShortStorage": "I16",
  "torch.CharStorage": "I8",
  "torch.ByteStorage": "U8",
  "torch.BoolStorage": "BOOL",
  "torch.storage.UntypedStorage": null,
};

const DTYPES: Record<string, TensorDtype> = {
  "torch.float64": "F64",
  "torch.float32": "F32",
  "torch.float16": "F16",
  "torch.bfloat16": "BF16",
  "torch.float8_e4m3fn": "F8_E4M3",
  "torch.float8_e5m2": "F8_E5M2",
  "torch.int64": "I64",
  "torch.int32": "I32",
  "torch.int16": "I16",
  "torch.int8": "I8",
  "torch.uint64": "U64",
  "torch.uint32": "U32",
  "torch.uint16": "U16",
  "torch.uint8": "U8",
  "torch.bool": "BOOL",
};

/** Classes that stand in FSDP checkpoints and say nothing that the reader needs beyond state. */
const OPAQUE_CLASSES = [
  "torch.device",
  "torch.distributed._mesh_layout._MeshLayout",
  "torch.distributed._mesh_layout._FlatLayout",
  "torch.distributed.device_mesh.DeviceMesh",
  "torch.distributed.tensor._dtensor_spec.DTensorSpec",
  "torch.distributed.tensor._dtensor_spec.TensorMeta",
  "torch.distributed.tensor._dtensor_spec.ShardOrderEntry",
  "torch.distributed._tensor.placement_types.DTensorSpec",
  "torch.distributed._tensor.placement_types.TensorMeta",
  "torch.distributed._tensor._dtensor_spec.DTensorSpec",
  "torch.distributed._tensor._dtensor_spec.TensorMeta",
  // Random states in extra_state files.
  "numpy.ndarray",
  "numpy.dtype",
  "numpy.core.multiarray._reconstruct",
  "numpy._core.multiarray._reconstruct",
];

/** Placements live in two modules: torch 2.5 renamed `_tensor`. */
const PLACEMENT_CLASSES = ["torch.distributed.tensor", "torch.distributed._tensor"].flatMap(
  (module) =>
    ["Shard", "Replicate", "Partial", "_Partial", "_StridedShard"].map(
      (name) => `${module}.placement_types.${name}`,
    ),
);

const DTENSOR_CLASSES = [
  "torch.distributed.tensor.DTensor",
  "torch.distributed._tensor.api.DTensor",
  "torch.distributed._tensor.DTensor",
];

const storageOf = new WeakMap<object, { dtype: TensorDtype | null }>();
const dtypeOf = new WeakMap<object, TensorDtype>();

/** The allow-list: what each name of a torch file means here. `fail` gets what breaks a rule. */
export function torchGlobals(fail: Fail): Record<string, PickleGlobal> {
  const rebuild = (args: PickleValue[]) => rebuildTensor(args, fail);
  const wrap: PickleGlobal = { construct: (args) => ({ shape: toNumbers(args[2]) }) };
  const plain: PickleGlobal = {};
  const globals: Record<string, PickleGlobal> = {
    // Its state is an attribute dict (`_metadata`), which no reader needs.
    "collections.OrderedDict": { construct: () => new Map(), setState: (map) => map },
    "collections.defaultdict": { construct: () => new Map() },
    "_codecs.encode": {
      construct: ([text]) => Buffer.from(typeof text === "string" ? text : "", "latin1"),
    },
    "torch.Size": { construct: ([sizes]) => sizes ?? [] },
    "torch.Tensor": plain,
    "torch.serialization._get_layout": { construct: ([name]) => name },
    "torch._utils._rebuild_tensor_v2": { construct: rebuild },
    "torch._utils._rebuild_tensor_v3": { construct: rebuild },
    "torch._utils._rebuild_parameter": { construct: ([tensor]) => tensor },
    "torch._utils._rebuild_wrapper_subclass": wrap,
    "torch._tensor._rebuild_from_type_v2": {
      construct: ([maker, , args, state]) =>
        maker === wrap ? rebuildDTensor(args, state, fail) : rebuild(toList(args)),
    },
  };
  for (const name of DTENSOR_CLASSES) globals[name] = {};
  for (const name of [...OPAQUE_CLASSES, ...PLACEMENT_CLASSES]) globals[name] = opaque(name);
  for (const [name, dtype] of Object.entries(STORAGE_CLASSES)) {
    storageOf.set((globals[name] = {}), { dtype });
  }
  for (const [name, dtype] of Object.entries(DTYPES)) dtypeOf.set((globals[name] = {}), dtype);
  return globals;
}

function opaque(name: string): PickleGlobal {
  return {
    construct: (args) => new OpaqueObject(name, args),
    setState: (object, state) => {
      (object as OpaqueObject).state = state;
      return object;
    },
  };
}

/** Resolves `("storage", class, key, location, element count)`. */
export function loadStorage(
  id: PickleValue,
  entryOf: (key: string) => ZipEntry | undefined,
  fail: Fail,
): StorageRef {
  const [tag, storageClass, key, , count] = Array.isArray(id) ? (id as PickleValue[]) : [];
  const known = storageOf.get(Object(storageClass) as object);
  if (tag !== "storage" || !known || typeof key !== "string" || typeof count !== "number") {
    return fail("expected a persistent id that names a storage");
  }
  const entry = entryOf(key);
  if (entry === undefined) return fail(`storage ${key} is named but not in the archive`);
  const bytes = count * (known.dtype === null ? 1 : DTYPE_BYTES[known.dtype]);
  if (bytes !== entry.sizeBytes) {
    fail(`storage ${key} claims ${bytes} bytes, but its entry holds ${entry.sizeBytes}`);
  }
  return { storage: { key, entry }, dtype: known.dtype };
}

/** Args: storage, offset, size, stride, requires_grad, hooks and, in v3, the element type. */
function rebuildTensor(args: PickleValue[], fail: Fail): TorchTensor {
  const [ref, offset, size, strides] = args as [StorageRef, number, PickleValue, PickleValue];
  const named = args.find((arg) => typeof arg === "object" && arg !== null && dtypeOf.has(arg));
  const dtype = ref?.dtype ?? (named === undefined ? null : dtypeOf.get(named as object));
  if (ref?.storage === undefined || !dtype) fail("a tensor has no storage or no element type");
  const [shape, stride] = [toNumbers(size), toNumbers(strides)];
  if (![offset, ...shape, ...stride].every(isSize) || shape.length !== stride.length) {
    fail(`storage ${ref.storage.key}: a tensor of shape [${shape}] and stride [${stride}]`);
  }
  const last = shape.reduce((sum, n, dim) => sum + (n - 1) * stride[dim], offset);
  const capacity = ref.storage.entry.sizeBytes / DTYPE_BYTES[dtype];
  if (!shape.includes(0) && last >= capacity) {
    fail(
      `storage ${ref.storage.key}: a tensor of shape [${shape}] reaches element ${last} of ` +
        `${capacity}`,
    );
  }
  return { kind: "tensor", dtype, shape, stride, offset, storage: ref.storage };
}

const isSize = (value: PickleValue) => Number.isSafeInteger(value) && (value as number) >= 0;

function rebuildDTensor(args: PickleValue, state: PickleValue, fail: Fail): TorchDTensor {
  const shape = toNumbers(toList(args)[2]);
  if (!shape.every(isSize)) fail("a DTensor has no shape");
  // The state is the attribute dict, alone or behind the base class's own (None).
  const bag: PickleValue = Array.isArray(state) ? state[1] : state;
  const attributes = bag instanceof Map ? bag : new Map<PickleValue, PickleValue>();
  const local = attributes.get("_local_tensor") as TorchTensor | undefined;
  const spec = stateOf(attributes.get("_spec"));
  const placements = spec.get("placements");
  if (local?.kind !== "tensor" || !Array.isArray(placements)) {
    fail("a DTensor lacks its local tensor or its placements");
  }
  return {
    kind: "dtensor",
    shape,
    local,
    placements: placements.map(toPlacement),
    mesh: toMesh(stateOf(spec.get("mesh")), fail),
  };
}

function toPlacement(value: PickleValue): Placement {
  const name = value instanceof OpaqueObject ? (value.className.split(".").at(-1) ?? "") : "none";
  const dim = stateOf(value).get("dim") ?? (value as OpaqueObject).args?.[0];
  if (name === "Shard" && typeof dim === "number") return { kind: "shard", dim };
  return name === "Replicate" ? { kind: "replicate" } : { kind: "unsupported", name };
}

function toMesh(state: Map<PickleValue, PickleValue>, fail: Fail): TorchMesh {
  const names = state.get("_mesh_dim_names") ?? state.get("mesh_dim_names");
  const ranks = state.get("_flatten_rank_map") ?? state.get("_flatten_mesh_list");
  // The grid is a tensor up to torch 2.9, a layout from 2.10 and a list of axes from 2.13.
  const grid = (state.get("mesh") ?? state.get("_mesh")) as TorchTensor | undefined;
  const layout = stateOf(state.get("_layout"));
  const axes = (layout.get("axes") as PickleValue[] | undefined)?.map((axis) =>
    stateOf(axis).get("shape"),
  );
  const shape = grid?.shape ?? toList(axes ?? layout.get("shape")).map(product);
  if (!shape.every(isSize)) fail("a DTensor lies on a mesh without a shape");
  return {
    shape,
    names: Array.isArray(names) ? names.filter((name) => typeof name === "string") : null,
    ranks: Array.isArray(ranks) ? toNumbers(ranks) : null,
  };
}

function stateOf(value: PickleValue): Map<PickleValue, PickleValue> {
  const state = value instanceof OpaqueObject ? value.state : null;
  return state instanceof Map ? state : new Map<PickleValue, PickleValue>();
}

/**
 * The numbers of a list; anything else in it is NaN. Lists of a pickle may contain one another a
 * thousand times over, so nothing here follows them to any depth or turns them into text.
 */
const toNumbers = (value: PickleValue): number[] =>
  Array.isArray(value) ? value.map((item) => (typeof item === "number" ? item : NaN)) : [];

const toList = (value: PickleValue): PickleValue[] => (Array.isArray(value) ? value : [value]);

/** The size of a mesh dimension, which may be made of several. */
const product = (value: PickleValue): number => toNumbers(toList(value)).reduce((a, b) => a * b, 1);
