"""Verbs that bring data into tables.

ingest      JSON text into a shredded table
ingest_job  runs it, in this process or on Spark
convert     string columns that hold JSON into Variants
migrate     files of the older draft layout into the current one; copies of tables without shredding
"""
