from shredlake.kernels.fallback.to_python import to_python as to_python
