"""Verbs that read rows of a table.

query  columns and paths, with a condition
"""
