from shredlake.kernels.fallback.profile import merge as merge
from shredlake.kernels.fallback.profile import summarize as summarize
