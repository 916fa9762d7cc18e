"""Where the bytes of a file come from and go to."""
