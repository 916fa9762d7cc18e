"""The verbs of the command line: one module each, imported when the verb is called.

loading/            bring data into tables: ingest, migrate
querying/           read rows of a table: query
describing/         show facts about tables and files: inspect, check, history, stats, report, advise
maintaining/        change a table: optimize, vacuum
demo, demo_data     a demonstration, and the events that the demo generates
"""
