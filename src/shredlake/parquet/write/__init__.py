"""Writing files: the writer, arrangement of columns, encodings."""
