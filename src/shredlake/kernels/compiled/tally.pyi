from shredlake.kernels.fallback.tally import count_codes as count_codes
from shredlake.kernels.fallback.tally import time_part as time_part
