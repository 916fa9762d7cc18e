from shredlake.kernels.fallback.validate import invalid_rows as invalid_rows
