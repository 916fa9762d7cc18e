"""Growing byte buffers that become Arrow buffers; for other compiled modules only."""
