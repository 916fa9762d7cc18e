"""Verbs that show facts about tables and files.

inspect, check      a Parquet file: its layout, and whether it follows the specification
history, stats      a table: its commits, and the ranges of values of its files
schema              a table: its columns, and how its Variants are shredded
report              a table: how its files shred its Variants
advise              which paths to shred
drift, views        paths that changed over versions; SQL with one typed column per path
doctor              which engines can read a table or file, and what this environment has
"""
