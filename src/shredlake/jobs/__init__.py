"""Work on whole tables, on any engine."""
