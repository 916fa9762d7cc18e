"""The command line.

app          lists the verbs and imports each when it is called
interrupts   what Ctrl-C does
failures     turns errors into one line and an exit code
ingest, query, advise, inspect, check, optimize, migrate, history, report, stats, vacuum, demo
             one module per verb
inputs       tables, Parquet files, text files and standard input
options      checks of options that several verbs share
engines      chooses Spark or threads
rows         writes rows as a table, JSON, CSV or Parquet
terminal     prints text without interpreting it
progress     a progress bar over rows
advise_data  the data that `advise` profiles
demo_data    the events that `demo` generates
"""
