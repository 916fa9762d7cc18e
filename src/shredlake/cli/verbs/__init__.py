"""The verbs of the command line: one module each, imported when the verb is called.

ingest, query       load JSON into a table, and read paths of it
advise, optimize    choose what to shred, and rewrite a table
history, report, stats, vacuum
                    show and maintain a table
inspect, check      show and check a Parquet file
migrate             convert files of the older draft layout; copy tables without shredding
demo                see it work
advise_data, demo_data
                    the data that `advise` profiles and that `demo` generates
"""
