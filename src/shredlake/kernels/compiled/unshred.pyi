import pyarrow as pa

from shredlake.kernels.arrow.flat_schema import Plan

def unshred(
    piece: pa.StructArray, plan: Plan, reject_conflicts: bool, first_row: int
) -> list[pa.StructArray]: ...
