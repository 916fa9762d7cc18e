"""The command line.

app         lists the verbs
verbs/      one module per verb, imported when it is called: loading, querying, describing, maintaining
interrupts  what Ctrl-C does
failures    turns errors into one line and an exit code
inputs      tables, Parquet files, text files and standard input
outputs     files that verbs write, complete or not at all
options     checks of options that several verbs share
engines     chooses Spark or threads
formats     the formats of rows, by name
rows        writes rows as a table, JSON, CSV or Parquet
pages       writes HTML pages
path_hints  suggests the nearest path for one that no file knows
messages    prints plain lines of text
terminal    draws tables; data is never read as markup
grids       tables that fit the width of the terminal
progress    a progress bar over rows
"""
