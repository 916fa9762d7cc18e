"""Statistics of files: collected, stored, read, and used to skip files."""
