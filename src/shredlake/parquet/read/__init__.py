"""Reading files: plans, statistics, skipping, windows, scans."""
