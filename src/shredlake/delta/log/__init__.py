"""The log of a table: which files make up a version, replayed into a snapshot."""
