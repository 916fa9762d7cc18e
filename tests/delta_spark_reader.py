"""Reads a Variant column of a table through delta-spark, in that environment's own process, as lines of JSON.

python tests/delta_spark_reader.py TABLE COLUMN OUTPUT
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"


def main() -> None:
    table, column, output = sys.argv[1:]
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars.packages", PACKAGE)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    rows = spark.read.format("delta").load(table).selectExpr(f"to_json({column})").collect()
    with open(output, "w") as file:
        file.writelines(row[0] + "\n" for row in rows)
    spark.stop()


if __name__ == "__main__":
    main()
