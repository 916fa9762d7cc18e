from shredlake.kernels.fallback.get import extract as extract
