from shredlake.kernels.fallback.from_arrow import encode as encode
