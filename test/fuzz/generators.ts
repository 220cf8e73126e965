/** Files built from hostile parts: what byte mutation seldom reaches behind a checked header. */
import fc from "fast-check";
import { torchEntries, zip } from "../merge/torch-writer.js";

const count = fc.oneof(
  fc.nat(8),
  fc.constantFrom(-1, 0.5, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 53 - 1, 1e300),
  fc.jsonValue({ maxDepth: 1 }),
);

const tensor = fc.record(
  {
    dtype: fc.oneof(fc.constantFrom("F32", "BF16", "U8", "I64", "X", "toString"), fc.jsonValue()),
    shape: fc.oneof(fc.array(count, { maxLength: 4 }), fc.jsonValue({ maxDepth: 1 })),
    data_offsets: fc.oneof(fc.tuple(count, count), fc.jsonValue({ maxDepth: 1 })),
  },
  { requiredKeys: [] },
);
const name = fc.oneof(fc.constantFrom("w", "__metadata__", "__proto__", "toString"), fc.string());

/** Safetensors files whose header is well-formed JSON and may say anything. */
export const safetensorsOfAnything: fc.Arbitrary<Buffer> = fc
  .tuple(fc.dictionary(name, fc.oneof(tensor, fc.jsonValue({ maxDepth: 2 }))), fc.nat(64))
  .map(([header, dataBytes]) => {
    const json = Buffer.from(JSON.stringify(header));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(json.length));
    return Buffer.concat([length, json, Buffer.alloc(dataBytes, 1)]);
  });

const latin = (text: string) => Buffer.from(text, "latin1");
const sized = (code: string, width: number) => (text: string) => {
  const length = Buffer.alloc(width);
  length.writeUIntLE(text.length, 0, Math.min(width, 6));
  return Buffer.concat([latin(code), length, latin(text)]);
};

/** Names on the allow-list, and some that are not. */
const GLOBALS = [
  ...["torch\nFloatStorage", "torch\nSize", "torch\nfloat32", "torch\ndevice", "os\nsystem"],
  ...["collections\nOrderedDict", "collections\ndefaultdict", "_codecs\nencode"],
  ...["torch._utils\n_rebuild_tensor_v2", "torch._utils\n_rebuild_tensor_v3"],
  ...["torch._utils\n_rebuild_wrapper_subclass", "torch._tensor\n_rebuild_from_type_v2"],
  ...["torch.distributed.tensor\nDTensor", "torch.distributed.device_mesh\nDeviceMesh"],
  ...["torch.distributed.tensor._dtensor_spec\nDTensorSpec", "numpy\nndarray"],
  ...["torch.distributed.tensor.placement_types\nShard", "__builtin__\neval"],
];
const KEYS = [
  "storage",
  "0",
  "cpu",
  "_local_tensor",
  "_spec",
  "placements",
  "mesh",
  "dim",
  "_mesh",
];

const opcode: fc.Arbitrary<Buffer> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(..."(0012N\x88\x89]lae)t\x85\x86\x87}dsu\x8f\x90\x91\x93Ro\x81\x92bQ\x94")
      .map(latin),
  },
  { weight: 3, arbitrary: fc.constantFrom(...GLOBALS).map((text) => latin(`c${text}\n`)) },
  { weight: 3, arbitrary: fc.constantFrom(...KEYS).map(sized("X", 4)) },
  { weight: 2, arbitrary: fc.nat(12).map((value) => Buffer.from([0x4b, value])) },
  { weight: 2, arbitrary: fc.nat(5).map((slot) => Buffer.from([0x68, slot])) },
  { weight: 2, arbitrary: fc.nat(5).map((slot) => Buffer.from([0x71, slot])) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(..."ILFSVPpgi"), fc.string({ maxLength: 6, unit: "binary-ascii" }))
      .map(([code, text]) => latin(`${code}${text}\n`)),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(..."TUX\x8c\x8dBC\x8e\x96\x8a\x8b"), fc.uint8Array({ maxLength: 9 }))
      .map(([code, bytes]) => Buffer.concat([latin(code), bytes])),
  },
  { weight: 1, arbitrary: fc.constant(latin("V\\U00ffffff\n")) },
);

/** Pickles that are a random sequence of opcodes with fitting arguments. */
export const opcodes: fc.Arbitrary<Buffer> = fc
  .array(opcode, { maxLength: 60 })
  .map((codes) => Buffer.concat([...codes, latin(".")]));

/** A torch.save file with this pickle. */
export function torchFileOf(pickle: Buffer): Buffer {
  const entries = torchEntries({ w: { kind: "tensor", shape: [2], data: [1, 2] } });
  return zip(
    entries.map((entry) =>
      entry.name === "archive/data.pkl" ? { ...entry, bytes: pickle } : entry,
    ),
  );
}
