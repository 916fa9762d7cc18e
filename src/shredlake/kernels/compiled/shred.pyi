from shredlake.kernels.fallback.shred import shred as shred
