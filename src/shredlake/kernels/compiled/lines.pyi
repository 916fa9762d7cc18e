from shredlake.kernels.fallback.lines import array_elements as array_elements
from shredlake.kernels.fallback.lines import json_documents as json_documents
from shredlake.kernels.fallback.lines import line_offsets as line_offsets
