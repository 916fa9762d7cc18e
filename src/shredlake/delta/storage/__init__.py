"""The one door to storage: local files, object stores, addresses, secrets."""
