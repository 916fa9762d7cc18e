"""The delta-spark part of the query benchmark, run in its own environment with a job on standard input."""

from __future__ import annotations

import json
import sys
import time

from pyspark.sql import SparkSession

PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"

job = json.load(sys.stdin)
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.memory", "4g")
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.jars.packages", PACKAGE)
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .getOrCreate()
)
spark.read.format("delta").load(job["table"]).createOrReplaceTempView("events")
times = {}
spark.sql(next(iter(job["queries"].values()))).collect()  # warms up
for name, query in job["queries"].items():
    started = time.perf_counter()
    spark.sql(query).collect()
    times[name] = time.perf_counter() - started
with open(job["answer"], "w") as answer:
    json.dump(times, answer)
