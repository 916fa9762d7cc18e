from shredlake.kernels.fallback.checksum import checksum as checksum
