"""Reading a table: scans, data files, deletion vectors, changes."""
