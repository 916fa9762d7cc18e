"""The compiled kernels, in Cython.

Modules (`.pyx`, each with a stub in `.pyi`): `lines`, `json_encode`, `json_render`, `from_arrow`,
`to_python`, `get`, `shred`, `unshred`, `profile`, `validate`, `checksum`, `tally`, `footer_places`; `buffers`
and `numbers` serve the others. A `.pxd` holds code that several modules include, or one part of a large one.
"""
