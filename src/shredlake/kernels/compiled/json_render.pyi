from shredlake.kernels.fallback.json_render import render as render
