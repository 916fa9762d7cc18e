from shredlake.kernels.fallback.unshred import unshred as unshred
