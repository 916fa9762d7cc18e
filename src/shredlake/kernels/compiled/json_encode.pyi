from shredlake.kernels.fallback.json_encode import encode as encode
