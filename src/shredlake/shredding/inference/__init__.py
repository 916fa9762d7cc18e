"""What to shred: profiles, costs, and the choice of a schema with its reasons."""
