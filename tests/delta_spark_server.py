"""delta-spark in a process and environment of its own: requests as lines of JSON in, answers as lines out.

| request                          | answer                                                               |
|----------------------------------|----------------------------------------------------------------------|
| {"sql": text}                    | the rows, Variants and other values that JSON lacks as tagged objects |
| {"set": {name: value}}           | nothing; settings of the session, removed where the value is null     |
| {"checkpoint": path}             | nothing; Delta writes a checkpoint of the table's latest version       |
| {"decode": text}                 | the Variant that Delta's own engine finds in a z85 text                |
| {"ours": text, "tables", "path"} | the rows that `shredlake.spark.sql` finds, in the same session          |
"""

from __future__ import annotations

import datetime
import decimal
import json
import os
import sys
from typing import Any

try:
    from pyspark.sql import Row, SparkSession
    from pyspark.sql.types import VariantVal
except ImportError as missing:
    print(json.dumps({"unavailable": str(missing)}), flush=True)
    sys.exit()

PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"


def tagged(value: Any) -> Any:
    """A value as JSON; what JSON lacks becomes an object of one key, its type."""
    match value:
        case Row():
            return {"row": {name: tagged(item) for name, item in value.asDict().items()}}
        case dict():
            return {"map": [[tagged(key), tagged(item)] for key, item in value.items()]}
        case list():
            return [tagged(item) for item in value]
        case VariantVal():
            return {"variant": [bytes(value.metadata).hex(), bytes(value.value).hex()]}
        case bytes() | bytearray():
            return {"bytes": bytes(value).hex()}
        case float():
            return {"float": value.hex()}
        case decimal.Decimal():
            return {"decimal": str(value)}
        case datetime.datetime():
            return {"datetime": value.isoformat()}
        case datetime.date():
            return {"date": value.isoformat()}
        case _:
            return value


def session(folder: str) -> SparkSession:
    settings = {
        "spark.jars.packages": PACKAGE,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    builder = SparkSession.builder.master("local[1]").appName("delta-spark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def answer(spark: SparkSession, request: dict[str, Any]) -> Any:
    match request:
        case {"sql": text}:
            return [tagged(row)["row"] for row in spark.sql(text).collect()]
        case {"set": settings}:
            for name, value in settings.items():
                spark.conf.unset(name) if value is None else spark.conf.set(name, value)
        case {"checkpoint": path}:
            log = spark._jvm.org.apache.spark.sql.delta.DeltaLog
            log.clearCache()
            log.forTable(spark._jsparkSession, path).checkpoint()
        case {"decode": text}:
            json_of = spark._jvm.org.apache.spark.sql.delta.util.DeltaStatsJsonUtils
            found = json_of.decodeVariantFromZ85(text)
            return tagged(VariantVal(bytes(found.getValue()), bytes(found.getMetadata())))
        case {"ours": text, "tables": tables, "path": folders}:
            # Behind the folders of this environment, whose PySpark counts.
            sys.path += [folder for folder in folders if folder not in sys.path]
            from shredlake import spark as sls

            return [tagged(row)["row"] for row in sls.sql(spark, text, **tables).collect()]
    return None


def main() -> None:
    # Whatever Java and its libraries print goes to standard error: standard output is for answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        spark = session(sys.argv[1])
    except Exception as error:
        print(json.dumps({"unavailable": str(error).splitlines()[0]}), file=answers)
        return
    print(json.dumps({"ready": spark.version}), file=answers)
    for line in sys.stdin:
        try:
            reply = {"result": answer(spark, json.loads(line))}
        except Exception as error:
            lines = (line for line in str(error).splitlines() if not line.startswith("\tat "))
            reply = {"error": "\n".join(lines)}
        print(json.dumps(reply), file=answers)
    spark.stop()


if __name__ == "__main__":
    main()
