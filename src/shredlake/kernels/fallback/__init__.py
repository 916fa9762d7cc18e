"""The kernels on the row-at-a-time reference, for where nothing is compiled; named as the compiled modules."""
