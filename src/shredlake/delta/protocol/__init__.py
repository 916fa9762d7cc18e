"""The Delta protocol as facts: actions, features, properties."""
