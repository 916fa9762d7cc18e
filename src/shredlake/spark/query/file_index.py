"""A list of files as one of Spark's own relations, with their partition values, and without listing a folder.

```
the files' Arrow columns ─ frame_of_arrow ─▶ rows in the JVM ─ constructor calls, compiled by Catalyst
                                      ─▶ FileStatus[], PartitionPath[] ─▶ InMemoryFileIndex ─▶ LogicalRelation
```

`spark.read.parquet` checks every path, in a job of its own from 33 paths on, and takes partition values only
from names of folders. The log knows both. An index of the log's files takes a constant number of calls into
the JVM, whatever the number of files and partitions, and the values are constants of each file for Spark.
See docs/decisions/0015.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.caches import of_session
from shredlake.spark.arrow import spark_type
from shredlake.spark.query.arrow_frames import frame_of_arrow
from shredlake.spark.query.data_files import MOST_FILES, DataFiles, value_name
from shredlake.spark.settings import is_connect, session_constant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

INDEXES: Final = 32
"""The most indexes that a session keeps."""

CHUNK: Final = 50_000
"""Rows that are sent to the JVM at once. Spark would make a job of a frame of more than 48 MB."""

BLOCK_BYTES: Final = 128 << 20
FOREVER: Final = -1
UNBOUNDED: Final = (1 << 62) - 1

NOT_LISTED: Final = "http://shredlake.invalid/to-refresh-a-view-call-register-again"
"""The root of all indexes. Hadoop can't list it, so that refreshing an index is an error, not an empty table.
The message of that error holds this address, and so the advice.

Spark takes two indexes with the same roots for the same, so every index has a root of its own below it."""


def relation(spark: SparkSession, files: DataFiles, schema: StructType, *, declare: bool) -> DataFrame | None:
    """The columns of a schema in these files, and their partition columns if folders tell these apart.

    With `declare`, Spark may rely on columns that are not nullable in the schema, and tests no row for them.
    Each nullable level of a path costs a test and an object for every row: see docs/decisions/0008. Returns
    None over Spark Connect, and if this Spark lacks a class.
    """
    from py4j.protocol import Py4JError

    if is_connect(spark):
        return None
    try:
        known = of_session(spark, "file indexes", INDEXES, heaviest=MOST_FILES)
        index = known.get(files.digest, lambda: _index(spark, files), len(files))
        return _frame(spark, index, schema, declare)
    except (Py4JError, TypeError, AttributeError):
        return None


def has_values(frame: DataFrame, files: DataFiles) -> bool:
    """Whether a frame has the partition columns of its files."""
    return all(name in frame.columns for name in files.partition_values)


def partitions_by_folder(files: DataFiles) -> pa.Table | None:
    """The partition values of each folder, or None if files of one folder differ in them."""
    rows = pa.table({"folder": files.folders, **files.partition_values})
    distinct = rows.group_by(rows.column_names).aggregate([])
    return distinct if len(distinct) == len(pc.unique(files.folders)) else None


@dataclass(frozen=True)
class _Classes:
    """Classes of the JVM, looked up once per session: each part of a name is a call into the JVM."""

    sources: Any
    """The package of Spark's relations."""
    new_relation: Any
    new_index: Any
    plan_of_relation: Any
    parquet: Any
    """Spark's Parquet format, as every relation has it."""
    types: Any
    none: Any
    no_options: Any
    sequence: Any
    """Makes a Scala sequence of a list."""

    @classmethod
    def of(cls, spark: SparkSession) -> _Classes:
        found: _Classes = session_constant(spark, "classes of relations", lambda: cls._find(spark._jvm))
        return found

    @classmethod
    def _find(cls, jvm: Any) -> _Classes:
        sources, python = jvm.org.apache.spark.sql.execution.datasources, jvm.PythonUtils
        return cls(
            sources=sources,
            new_relation=sources.HadoopFsRelation,
            new_index=sources.InMemoryFileIndex,
            plan_of_relation=getattr(getattr(sources, "LogicalRelation$"), "MODULE$"),
            parquet=sources.parquet.ParquetFileFormat(),
            types=jvm.org.apache.spark.sql.types.DataType,
            none=jvm.scala.Option.empty(),
            no_options=python.toScalaMap({}),
            sequence=python.toSeq,
        )


def _index(spark: SparkSession, files: DataFiles) -> Any:
    from pyspark.sql.types import StringType, StructField, StructType

    jvm, java, objects = spark._jvm, _Classes.of(spark), _Objects(spark)
    root = jvm.org.apache.hadoop.fs.Path(f"{NOT_LISTED}/{files.digest.hex()}")
    known = java.sources.SharedInMemoryCache(UNBOUNDED, FOREVER).createForNewClient()
    known.putLeafFiles(root, objects.array("org.apache.hadoop.fs.FileStatus", _statuses(objects, files)))
    values = partitions_by_folder(files) if files.partition_values else None
    spec, options = java.none, java.no_options
    if values is None:  # otherwise the index would look for the files in the folder `root`
        options = jvm.PythonUtils.toScalaMap({"recursiveFileLookup": "true"})
    else:
        schema = partition_schema(files)
        whole = StructType([StructField("folder", StringType()), StructField("values", schema)])
        found = objects.made(_struct(values), whole, lambda row: row.new(
            "org.apache.spark.sql.execution.datasources.PartitionPath", row.column(1), row.path(0)
        ))  # fmt: skip
        spec = jvm.scala.Some(java.sources.PartitionSpec(_java_schema(java, schema), found))
    session, roots = spark._jsparkSession, java.sequence([root])
    return java.new_index(session, roots, options, java.none, known, spec, java.none)


def _frame(spark: SparkSession, index: Any, schema: StructType, declare: bool) -> DataFrame:
    java = _Classes.of(spark)
    columns = _java_schema(java, schema)
    files = java.new_relation(
        index,
        index.partitionSchema(),
        columns if declare else columns.asNullable(),
        java.none,
        java.parquet,
        java.no_options,
        spark._jsparkSession,
    )
    return frame_of(spark, java.plan_of_relation.apply(files, False))


def frame_of(spark: SparkSession, plan: Any) -> DataFrame:
    """Makes a DataFrame of a logical plan in the JVM."""
    from pyspark.sql import DataFrame

    datasets = session_constant(spark, "Dataset$", lambda: _datasets(spark._jvm))
    return DataFrame(datasets.ofRows(spark._jsparkSession, plan), spark)


def _datasets(jvm: Any) -> Any:
    return getattr(getattr(jvm.org.apache.spark.sql.classic, "Dataset$"), "MODULE$")


def partition_schema(files: DataFiles) -> StructType:
    """The partition columns of files, by `value_name`."""
    from pyspark.sql.types import StructField, StructType

    return StructType(
        [StructField(value_name(field.name), spark_type(field.type)) for field in files.partition_fields]
    )


def _java_schema(java: _Classes, schema: StructType) -> Any:
    return java.types.fromJson(json.dumps(schema.jsonValue()))


def _statuses(objects: _Objects, files: DataFiles) -> Any:
    """The facts about the files that listing a folder would give."""
    from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructField, StructType

    count = len(files)
    rows = pa.table(
        {
            "path": files.paths,
            "size": files.table.column("size"),
            "time": pc.fill_null(files.table.column("modificationTime"), 0),
            "is_folder": pa.repeat(pa.scalar(False), count),
            "copies": pa.repeat(pa.scalar(1, pa.int32()), count),
            "block": pa.repeat(pa.scalar(BLOCK_BYTES, pa.int64()), count),
        }
    )
    kinds = (StringType, LongType, LongType, BooleanType, IntegerType, LongType)
    named = zip(rows.column_names, kinds, strict=True)
    schema = StructType([StructField(name, kind()) for name, kind in named])
    return objects.made(rows, schema, lambda row: row.new(
        "org.apache.hadoop.fs.FileStatus", row.column(1), row.column(3), row.column(4), row.column(5),
        row.column(2), row.path(0),
    ))  # fmt: skip


def _struct(values: pa.Table) -> pa.Table:
    """Folders, and their partition values as one column."""
    names = values.column_names[1:]
    inner = pa.StructArray.from_arrays(
        [values.column(name).combine_chunks() for name in names],
        fields=[values.field(name) for name in names],
    )
    return pa.table({"folder": values.column(0), "values": inner})


class _Objects:
    """Makes JVM objects of the rows of Arrow tables, in a few calls for any number of rows.

    Catalyst compiles constructor calls for typed Datasets. Here it does the same for these objects.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._jvm = spark._jvm
        self._sequence = _Classes.of(spark).sequence
        encoders = spark._jvm.org.apache.spark.sql.catalyst.encoders
        self._function = getattr(encoders, "ExpressionEncoder$Deserializer")

    def made(self, rows: pa.Table, schema: StructType, make: Callable[[_Row], Any]) -> Any:
        """A Scala sequence with an object for each row. Without a schema, that of the table counts."""
        made = None
        for start in range(0, max(rows.num_rows, 1), CHUNK):
            frame = frame_of_arrow(self._spark, rows.slice(start, CHUNK), schema)
            found = frame._jdf.queryExecution().analyzed()
            call = make(_Row(self._jvm, found.schema()))
            one = found.data().map(self._function(self._sequence([call])))
            made = one if made is None else made.appendedAll(one)
        return made

    def array(self, kind: str, items: Any) -> Any:
        """A Java array of a sequence."""
        tags = getattr(self._jvm.scala.reflect, "ClassTag$")
        return items.toArray(getattr(tags, "MODULE$").apply(_class(self._jvm, kind)))


class _Row:
    """Expressions over a row."""

    def __init__(self, jvm: Any, schema: Any) -> None:
        self._jvm, self._schema = jvm, schema
        self._expressions = jvm.org.apache.spark.sql.catalyst.expressions
        self._objects = self._expressions.objects
        self._reference = self._expressions.BoundReference
        self._sequence = jvm.PythonUtils.toSeq

    def column(self, number: int) -> Any:
        kind = self._schema.apply(number).dataType()
        return self._reference(number, kind, False)

    def path(self, number: int) -> Any:
        """A text as a path."""
        text = self._objects.Invoke(
            self.column(number), "toString", self._object("java.lang.String"),
            self._sequence([]), self._sequence([]), False, False, True,
        )  # fmt: skip
        return self.new("org.apache.hadoop.fs.Path", text)

    def new(self, kind: str, *arguments: Any) -> Any:
        """A constructor call."""
        calls = getattr(getattr(self._objects, "NewInstance$"), "MODULE$")
        given = self._sequence(list(arguments))
        return calls.apply(_class(self._jvm, kind), given, self._object(kind), False)

    def _object(self, kind: str) -> Any:
        return self._jvm.org.apache.spark.sql.types.ObjectType(_class(self._jvm, kind))


def _class(jvm: Any, name: str) -> Any:
    """A class of Spark's, also where Spark's jars have a class loader of their own."""
    return jvm.org.apache.spark.util.Utils.classForName(name, True, False)
