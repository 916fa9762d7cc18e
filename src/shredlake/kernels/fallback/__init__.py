"""The kernels in pure Python, one row at a time on the reference, for installs without compiled modules.

Each module has the name and the functions of the compiled module that it replaces.
"""
