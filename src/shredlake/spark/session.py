"""Creates or checks a Spark session: its settings, the workers' Python, and clear errors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from shredlake.caches import of_session
from shredlake.errors import MissingDependency
from shredlake.spark.settings import is_connect, settings
from shredlake.spark.start_messages import without_start_messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA: Final = 17
SPARK_VERSIONS: Final = ((4, 1), (4, 3))
"""The oldest and newest Spark versions that are tested. Other versions are rejected."""

RUNTIME_SETTINGS: Final[Mapping[str, str]] = {
    # Spark reads shredded Variants as plain columns, so it prunes columns and pushes filters down.
    "spark.sql.parquet.ignoreVariantAnnotation": "true",
    # Spark exchanges batches with Python workers as Arrow.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Filters on a DataFrame of format("shredlake") prune if its option `pushFilters`, off by default, is set.
    "spark.sql.python.filterPushdown.enabled": "true",
}
"""Settings that shredlake's queries require. They can be set on a running session."""

LOCAL: Final = "local[*, 2]"
"""All cores of this machine, with one retry for a task whose worker died."""

LOCAL_SETTINGS: Final[Mapping[str, str]] = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "2g",
    # A laptop's host name often resolves to an address that the laptop does not have.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Over TCP, each task of a Python worker waits 40 ms for an acknowledgement.
    "spark.python.unix.domain.socket.enabled": "true",
}
"""Defaults for a local Spark, which the caller's settings override."""


def session(
    app: str = "shredlake",
    *,
    master: str | None = None,
    remote: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Returns the running session, or creates one: local, on `master`, or over Connect at `remote`.

    Under `spark-submit`, the cluster's own settings apply, plus the few that shredlake needs.

    >>> spark = session(master="local[1]")
    >>> spark.conf.get("spark.sql.parquet.ignoreVariantAnnotation")
    'true'
    """
    check_spark()
    from pyspark.sql import SparkSession

    if remote is not None:
        if remote.startswith("local"):  # PySpark starts a server here, whose workers use this environment
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        return ensure_supported(SparkSession.builder.remote(remote).getOrCreate())
    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return ensure_supported(active)
    check_java()
    builder = configure(SparkSession.builder.appName(app))
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_ENV_LOADED" in os.environ
    where = master or (None if submitted else os.environ.get("SPARK_MASTER", LOCAL))
    if where is not None:
        builder = builder.master(where)
        if where.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            for name, value in LOCAL_SETTINGS.items():
                builder = builder.config(name, value)
    for name, value in (settings or {}).items():
        builder = builder.config(name, value)
    with without_start_messages():
        return builder.getOrCreate()


def configure(builder: Any) -> Any:
    """Adds the settings that shredlake needs to a given `SparkSession.builder`.

    >>> from pyspark.sql import SparkSession
    >>> spark = configure(SparkSession.builder).getOrCreate()
    """
    for name, value in RUNTIME_SETTINGS.items():
        builder = builder.config(name, value)
    # Classic PySpark reads the workers' Python only from this variable, when the context starts. Workers on
    # this machine need the driver's environment. A cluster that ships its own sets the variable itself.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return builder


def ensure_supported(spark: SparkSession) -> SparkSession:
    """Applies the required settings to a running session. Raises if its Spark version is not supported."""
    found = tuple(int(part) for part in re.findall(r"\d+", spark.version)[:2])
    first, last = SPARK_VERSIONS
    if not first <= found <= last:
        raise MissingDependency(
            f"Spark {spark.version} is not supported, only {first[0]}.{first[1]} to {last[0]}.{last[1]}: "
            f"pip install 'pyspark>={first[0]}.{first[1]},<{last[0]}.{last[1] + 1}'"
        )
    if is_connect(spark):
        _require_settings(spark)
        return spark
    checked = of_session(spark, "checked settings", 8)
    if checked.find(settings(spark)) is None:  # one call into the JVM, instead of one for each setting
        _require_settings(spark)
        checked.put(settings(spark), True)
    return spark


def _require_settings(spark: SparkSession) -> None:
    for name, value in RUNTIME_SETTINGS.items():
        if spark.conf.get(name, "false") != value:
            spark.conf.set(name, value)


def register_source(spark: SparkSession) -> SparkSession:
    """Registers `format("shredlake")` in a session, and applies the settings that shredlake needs.

    Rarely needed: Spark finds the source by itself if its Python on the driver has shredlake installed, and
    `session` and `configure` apply the settings.

    >>> import tempfile, pyarrow as pa, shredlake as sl
    >>> spark = register_source(session())
    >>> place = tempfile.mkdtemp()
    >>> _ = sl.Table.create(place, pa.schema([("id", pa.int64())])).append(pa.table({"id": [1, 2]}))
    >>> spark.read.format("shredlake").load(place).where("id > 1").collect()
    [Row(id=2)]
    """
    from pyspark_shredlake import DefaultSource

    spark.dataSource.register(DefaultSource)
    return ensure_supported(spark)


def check_spark() -> None:
    """Raises a clear error if PySpark is missing or its version is not supported."""
    first, last = SPARK_VERSIONS
    wanted = f"pip install 'shredlake[spark]' (PySpark {first[0]}.{first[1]} to {last[0]}.{last[1]})"
    try:
        import pyspark
    except ImportError:
        raise MissingDependency(f"PySpark is not installed: {wanted}, or use --engine local") from None
    found = tuple(int(part) for part in re.findall(r"\d+", pyspark.__version__)[:2])
    if not first <= found <= last:
        raise MissingDependency(f"PySpark {pyspark.__version__} is not supported: {wanted}")


def check_java() -> None:
    """Raises a clear error if Java is missing or too old."""
    advice = f"install Java {OLDEST_JAVA} or newer (Debian: apt-get install openjdk-17-jre-headless)"
    version = java_version()
    if version is None:
        raise MissingDependency(f"no Java found: {advice}, set JAVA_HOME, or use --engine local")
    if version < OLDEST_JAVA:
        raise MissingDependency(f"Java {version} is too old for Spark 4: {advice}, or use --engine local")


def java_version() -> int | None:
    """The major version of the Java that Spark would start, or None if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not java or not os.path.exists(java):
        return None
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(found.group(1)) if found else None
