"""Store JSON in Delta tables, and query it at the speed of relational tables.

`ingest` loads documents into a table, `sql` runs queries, and `Table` reads, writes and maintains one table.
`Variant` is a single value. `from_json`, `get`, `shred` and others work on whole Arrow columns;
`read_parquet` and `write_parquet` work on files. `shredlake.spark` does the same work on Spark.

Every public name is imported from its module when it is first used, so `import shredlake` takes milliseconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shredlake.delta.check.check import check_table
    from shredlake.delta.check.findings import Finding, TableCheck
    from shredlake.delta.report.drift import Drift, drift
    from shredlake.delta.report.views import views
    from shredlake.diagnosis.doctor import Diagnosis, doctor
    from shredlake.errors import (
        CastError,
        CommitConflict,
        CommitUncertain,
        ConstraintViolation,
        CorruptLog,
        FileMissing,
        InvalidExpression,
        InvalidFile,
        InvalidJson,
        InvalidPath,
        InvalidSchema,
        InvalidValue,
        MalformedVariant,
        MissingDependency,
        NoSuchElement,
        NotATable,
        NotJson,
        PathRefused,
        PipelineError,
        ReadFailed,
        ShreddingConflict,
        ShredlakeError,
        StoreRefused,
        TableError,
        TableExists,
        TooManyRejects,
        UnsupportedExpression,
        UnsupportedFeature,
        VerificationFailed,
        VersionNotFound,
        WrongType,
    )
    from shredlake.jobs.advise import Advice, advise
    from shredlake.jobs.optimize import OptimizeReport
    from shredlake.jobs.report import IngestReport
    from shredlake.jobs.verbs import convert, ingest, migrate_draft, optimize
    from shredlake.kernels import (
        from_arrow,
        from_json,
        get,
        infer_schema,
        is_variant,
        merge_profiles,
        profile,
        profile_bytes,
        reshred,
        shred,
        shredded_type,
        shredding_schema,
        to_json,
        to_python,
        unshred,
        validate,
        variant,
    )
    from shredlake.lazy_frame import arrow_dataset, scan_polars
    from shredlake.parquet.inspect.check import check
    from shredlake.parquet.inspect.inspect import FileReport, inspect
    from shredlake.parquet.inspect.rules import Violation
    from shredlake.parquet.legacy.convert import convert_draft, read_draft, write_draft
    from shredlake.parquet.read.explain import Explain
    from shredlake.parquet.read.scan import Scan, read_parquet, scan_parquet
    from shredlake.parquet.write.writer import FileFacts, ParquetWriter, WriteOptions, write_parquet
    from shredlake.shredding.inference.profile import Profile
    from shredlake.shredding.inference.report import InferredSchema
    from shredlake.shredding.schema import ShreddingSchema
    from shredlake.sql.api import sql
    from shredlake.sql.explain import SqlExplain
    from shredlake.sql.result import SqlResult
    from shredlake.table import Table
    from shredlake.variant.builder import VariantBuilder
    from shredlake.variant.path import Path
    from shredlake.variant.scalars import (
        Date,
        Decimal4,
        Decimal8,
        Decimal16,
        Float32,
        Int8,
        Int16,
        Int32,
        Int64,
        Timestamp,
        TimestampNanos,
        TimestampNtz,
        TimestampNtzNanos,
    )
    from shredlake.variant.types import VariantType
    from shredlake.variant.value import Variant

__all__ = [
    "Advice",
    "CastError",
    "CommitConflict",
    "CommitUncertain",
    "ConstraintViolation",
    "CorruptLog",
    "Date",
    "Decimal4",
    "Decimal8",
    "Decimal16",
    "Diagnosis",
    "Drift",
    "Explain",
    "FileFacts",
    "FileMissing",
    "FileReport",
    "Finding",
    "Float32",
    "InferredSchema",
    "IngestReport",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "InvalidExpression",
    "InvalidFile",
    "InvalidJson",
    "InvalidPath",
    "InvalidSchema",
    "InvalidValue",
    "MalformedVariant",
    "MissingDependency",
    "NoSuchElement",
    "NotATable",
    "NotJson",
    "OptimizeReport",
    "ParquetWriter",
    "Path",
    "PathRefused",
    "PipelineError",
    "Profile",
    "ReadFailed",
    "Scan",
    "ShreddingConflict",
    "ShreddingSchema",
    "ShredlakeError",
    "SqlExplain",
    "SqlResult",
    "StoreRefused",
    "Table",
    "TableCheck",
    "TableError",
    "TableExists",
    "Timestamp",
    "TimestampNanos",
    "TimestampNtz",
    "TimestampNtzNanos",
    "TooManyRejects",
    "UnsupportedExpression",
    "UnsupportedFeature",
    "Variant",
    "VariantBuilder",
    "VariantType",
    "VerificationFailed",
    "VersionNotFound",
    "Violation",
    "WriteOptions",
    "WrongType",
    "advise",
    "arrow_dataset",
    "check",
    "check_table",
    "convert",
    "convert_draft",
    "doctor",
    "drift",
    "from_arrow",
    "from_json",
    "get",
    "infer_schema",
    "ingest",
    "inspect",
    "is_variant",
    "merge_profiles",
    "migrate_draft",
    "optimize",
    "profile",
    "profile_bytes",
    "read_draft",
    "read_parquet",
    "reshred",
    "scan_parquet",
    "scan_polars",
    "shred",
    "shredded_type",
    "shredding_schema",
    "sql",
    "to_json",
    "to_python",
    "unshred",
    "validate",
    "variant",
    "views",
    "write_draft",
    "write_parquet",
]

__version__ = "0.1.0"

_MODULES = {
    "shredlake.sql.api": "sql",
    "shredlake.sql.explain": "SqlExplain",
    "shredlake.sql.result": "SqlResult",
    "shredlake.table": "Table",
    "shredlake.delta.check.check": "check_table",
    "shredlake.delta.check.findings": "Finding TableCheck",
    "shredlake.delta.report.drift": "Drift drift",
    "shredlake.delta.report.views": "views",
    "shredlake.diagnosis.doctor": "Diagnosis doctor",
    "shredlake.errors": (
        "CastError CommitConflict CommitUncertain ConstraintViolation CorruptLog FileMissing "
        "InvalidExpression InvalidFile InvalidJson InvalidPath InvalidSchema InvalidValue "
        "MalformedVariant MissingDependency NoSuchElement NotATable NotJson PathRefused PipelineError "
        "ReadFailed "
        "ShreddingConflict ShredlakeError StoreRefused TableError TableExists TooManyRejects "
        "UnsupportedExpression UnsupportedFeature VerificationFailed VersionNotFound WrongType"
    ),
    "shredlake.jobs.advise": "Advice advise",
    "shredlake.jobs.optimize": "OptimizeReport",
    "shredlake.jobs.report": "IngestReport",
    "shredlake.jobs.verbs": "convert ingest migrate_draft optimize",
    "shredlake.kernels": (
        "from_arrow from_json get infer_schema is_variant merge_profiles profile profile_bytes reshred "
        "shred shredded_type shredding_schema to_json to_python unshred validate variant"
    ),
    "shredlake.lazy_frame": "arrow_dataset scan_polars",
    "shredlake.parquet.inspect.check": "check",
    "shredlake.parquet.legacy.convert": "convert_draft read_draft write_draft",
    "shredlake.parquet.read.explain": "Explain",
    "shredlake.parquet.inspect.inspect": "FileReport inspect",
    "shredlake.parquet.inspect.rules": "Violation",
    "shredlake.parquet.read.scan": "Scan read_parquet scan_parquet",
    "shredlake.parquet.write.writer": "FileFacts ParquetWriter WriteOptions write_parquet",
    "shredlake.shredding.inference.report": "InferredSchema",
    "shredlake.shredding.inference.profile": "Profile",
    "shredlake.shredding.schema": "ShreddingSchema",
    "shredlake.variant.builder": "VariantBuilder",
    "shredlake.variant.path": "Path",
    "shredlake.variant.scalars": (
        "Date Decimal4 Decimal8 Decimal16 Float32 Int8 Int16 Int32 Int64 Timestamp TimestampNanos "
        "TimestampNtz TimestampNtzNanos"
    ),
    "shredlake.variant.types": "VariantType",
    "shredlake.variant.value": "Variant",
}
"""The module of every public name."""

_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

_PACKAGES = {"caches", "delta", "errors", "expr", "kernels", "parquet", "shredding"}
"""Parts that are attributes of `shredlake` without an import of their own."""

# The import system binds a package's name when the package is first imported. `variant` is also the name of a
# public function, and the function wins. So is `sql`.
import_module("shredlake.variant")
globals().pop("variant")
import_module("shredlake.sql")
globals().pop("sql")

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            globals()[name] = getattr(import_module(_HOMES[name]), name)
            return globals()[name]
        if name in _PACKAGES:
            return import_module(f"shredlake.{name}")
        raise AttributeError(f"module 'shredlake' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
