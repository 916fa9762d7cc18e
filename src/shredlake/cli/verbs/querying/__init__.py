"""Verbs that read rows of a table.

query        columns and paths, with a condition
sql, prompt  SQL, as one query or at a prompt
known_paths  what the prompt completes
head, count  the first rows, and the number of rows
"""
