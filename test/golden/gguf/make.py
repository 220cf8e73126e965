"""Makes blocks.gguf and blocks.json: random blocks of each element type, and their values.

    python test/golden/gguf/make.py test/golden/gguf      (needs gguf and numpy)
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np

random = np.random.default_rng(0)
out = Path(sys.argv[1])
writer = gguf.GGUFWriter(out / "blocks.gguf", "llama")
expected = {}
# Where the half-precision scales stand in a block of each type.
scales = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q4_K": [0, 2], "Q6_K": [208]}
for name in ("F32", "F16", "BF16", *scales):
    kind = gguf.GGMLQuantizationType[name]
    size, bytes_per_block = gguf.GGML_QUANT_SIZES[kind]
    if name in scales:
        blocks = random.integers(0, 256, (2, bytes_per_block), dtype=np.uint8)
        for at in scales[name]:
            blocks[:, at:at + 2] = random.normal(0, 0.1, (2, 1)).astype(np.float16).view(np.uint8)
        values = gguf.quants.dequantize(blocks, kind)
        writer.add_tensor(name, blocks, raw_dtype=kind)
    else:
        source = random.normal(0, 1, (2, 4)).astype(np.float32)
        blocks = gguf.quants.quantize(source, kind)
        values = gguf.quants.dequantize(blocks, kind)
        writer.add_tensor(name, blocks, raw_dtype=kind)
    expected[name] = [float(value) for value in values.astype(np.float32).flatten()]
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
(out / "blocks.json").write_text(json.dumps(expected) + "\n")
