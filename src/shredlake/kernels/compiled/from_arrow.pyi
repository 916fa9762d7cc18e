import pyarrow as pa

from shredlake.kernels.arrow.nodes import ArrowNode

def encode(node: ArrowNode, from_row: int, variant_type: pa.DataType) -> tuple[pa.Array, int, bool]: ...
