"""The kernels in pure Python, row by row on the reference, for installs without compiled modules.

Each module has the name and the functions of the compiled module that it replaces.
"""
