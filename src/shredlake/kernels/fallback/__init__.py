"""The kernels on the row-at-a-time reference, where nothing is compiled; named as the compiled modules."""
