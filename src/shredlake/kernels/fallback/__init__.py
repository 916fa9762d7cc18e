"""The kernels in pure Python, row by row on the reference, for installs without compiled modules.

Modules, each with the name and the functions of the compiled module that it replaces: `lines`,
`json_encode`, `json_render`, `from_arrow`, `to_python`, `get`, `shred`, `unshred`, `profile`, `validate`,
`checksum`, `tally`, `footer_places`.
"""
