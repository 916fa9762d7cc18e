"""The older draft layout."""
