from shredlake.kernels.fallback.footer_places import chunk_numbers as chunk_numbers
from shredlake.kernels.fallback.footer_places import footer_places as footer_places
