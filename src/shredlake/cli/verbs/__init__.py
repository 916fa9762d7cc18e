"""The verbs of the command line: one module each, imported when the verb is called or its help is shown.

loading/       bring data into tables: ingest, convert, migrate
querying/      read rows of a table: query, sql, count, head
describing/    show facts about tables and files: inspect, check, history, stats, report, advise and others
maintaining/   change a table: optimize, delete, restore, vacuum
demo           a demonstration
demo_data      its events
demo_tour      its steps

A verb imports what it works with inside its function, because its help needs none of it.
"""
