# Every target does its own set-up. `make` alone lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV      = $(or $(shell command -v uv),$(wildcard $(BIN)/uv))
INSTALL = $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check)
LOCKED  = --constraint constraints.txt
# Our own build uses the tools that are already installed. uv builds PySpark apart, so that its cache keeps the result.
OURS    = --no-build-isolation$(if $(UV),-package shredlake) --editable
ASAN_COUNT ?= 20000
FUZZ_SECONDS ?= 30
ANSWERS ?= 100000
ASAN_SEED  ?= 1
# Test processes, command lines and Spark's workers import the same modules again and again: two seconds each without bytecode.
unexport PYTHONDONTWRITEBYTECODE
SOURCES := $(wildcard src/shredlake/kernels/compiled/*.pyx src/shredlake/kernels/compiled/*.pxd)

.DEFAULT_GOAL := help
.PHONY: answers asan docs reference screenshots help setup demo check coverage test lint interop interop-delta interop-oldest fuzz bench-kernels bench-infer bench-parquet bench-memory bench-delta bench-ingest bench-partitions bench-driver bench-query bench-shapes bench-datasource bench-jsonbench bench-sql-memory faults pipelines races kill kill-convert clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: build ## virtual environment in .venv, all dependencies, compiled kernels

# uv installs in parallel; where uv can't be installed, pip does the same work. pip itself takes seconds to install, so
# the Python that made the environment lends its own.
$(VENV)/.python:
	@command -v $(PYTHON) >/dev/null || { echo "shredlake needs Python 3.11 or newer: install python3 (Debian: apt-get install python3 python3-venv)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "shredlake needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "this Python has no venv module: install it (Debian: apt-get install python3-venv)"; exit 1; }
	@echo "setting up $(VENV) (about a minute the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	@command -v uv >/dev/null || $(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check uv 2>/dev/null \
	  || { $(BIN)/python -m ensurepip >/dev/null && $(BIN)/python -m pip install --quiet --disable-pip-version-check uv; } || echo "uv can't be installed here: pip is used"
	@touch $@

$(VENV)/.tools: $(VENV)/.python
	@$(INSTALL) $(LOCKED) setuptools cython
	@touch $@

# Installs the package in editable mode with its dependencies. The kernels have a rule of their own, so nothing is compiled here.
$(VENV)/.runtime: $(VENV)/.tools pyproject.toml setup.py constraints.txt
	@SHREDLAKE_SKIP_KERNELS=1 $(INSTALL) $(LOCKED) $(OURS) ".[spark]"
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@SHREDLAKE_SKIP_KERNELS=1 $(INSTALL) $(LOCKED) $(OURS) ".[dev]"
	@touch $@

$(VENV)/.kernels: $(VENV)/.tools setup.py $(SOURCES)
	@command -v $${CC:-cc} >/dev/null || { echo "no C compiler: install one (Debian: apt-get install gcc libc6-dev); until then a much slower pure-Python version is used"; }
	@SHREDLAKE_REQUIRE_KERNELS=$$(command -v $${CC:-cc} >/dev/null && echo 1 || echo 0) $(BIN)/python setup.py --quiet build_ext --inplace --parallel $$(nproc 2>/dev/null || echo 2)
	@touch $@

# The compiler and the downloads run in parallel.
.PHONY: constraints runtime build
runtime: $(VENV)/.tools
	@$(MAKE) --no-print-directory -j2 $(VENV)/.kernels $(VENV)/.runtime

build: $(VENV)/.tools
	@$(MAKE) --no-print-directory -j2 $(VENV)/.kernels $(VENV)/.dev

constraints: $(VENV)/.python ## renew constraints.txt, the versions that every build uses
	@$(UV) pip compile --quiet --universal --python-version 3.11 --all-extras --upgrade --no-header --no-annotate --output-file constraints.txt pyproject.toml

lint: build ## ruff, mypy --strict, and vulture for dead code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/vulture

check: build ## fast: lint, types, and every test that needs neither Spark nor a server nor more than a second
	@$(MAKE) --no-print-directory -j3 quick-half quick-rest lint

# Two processes that share nothing: each collects its own tests, and no third one waits for their reports. The lint runs
# beside both, because tests also wait: for processes, threads and files.
QUICK = SHREDLAKE_NO_SPARK=1 $(BIN)/python -m pytest -q -m "not slow"
HALF  = $(addprefix tests/unit/,delta jobs kernels parquet shredding cli)

.PHONY: quick-half quick-rest
quick-half: build
	$(QUICK) $(HALF)

quick-rest: build
	$(QUICK) tests/unit tests/properties tests/conformance tests/fuzz src --ignore=tests/unit/test_docs.py $(addprefix --ignore=,$(HALF))

coverage: build ## the lines that the tests without Spark run, as a table: minutes
	SHREDLAKE_NO_SPARK=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile --cov --cov-report=term tests/unit tests/properties tests/conformance

test: lint ## lint, unit, property, conformance and interop tests: what CI runs
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

$(VENV)/.docs: $(VENV)/.dev
	@SHREDLAKE_SKIP_KERNELS=1 $(INSTALL) $(LOCKED) $(OURS) ".[docs]"
	@touch $@

docs: build $(VENV)/.docs ## the documentation as a site in build/site; a broken link or anchor fails
	$(BIN)/zensical build --clean --strict

reference: build ## renew docs/reference from the code
	$(BIN)/python tools/reference.py

screenshots: build ## renew the pictures of docs/report.md, with Chromium
	$(BIN)/python tools/screenshots.py

demo: runtime ## load generated events and query them
	@$(BIN)/shredlake demo

# atheris has wheels only for Linux; without it, inputs come only from the doors' own mutations.
$(VENV)/.fuzz: $(VENV)/.dev
	@SHREDLAKE_SKIP_KERNELS=1 $(INSTALL) $(LOCKED) $(OURS) ".[fuzz]" || echo "atheris can't be installed here: inputs are not chosen by coverage"
	@touch $@

fuzz: build $(VENV)/.fuzz ## hostile input for every entry point ("door"), FUZZ_SECONDS=30 each; DOORS="json path" for some
	@$(BIN)/python tests/fuzz/run.py $(DOORS) --seconds $(FUZZ_SECONDS) $$($(BIN)/python -c 'import atheris' 2>/dev/null || echo --unguided)
	@SHREDLAKE_RANDOM=1 $(BIN)/python -m pytest -q -n 2 tests/properties

answers: build ## ANSWERS=100000 random predicates on random tables, against unpruned evaluation: long
	@SHREDLAKE_ANSWERS=$(ANSWERS) $(BIN)/python -m pytest -q tests/properties/test_answers.py

asan: $(VENV)/.dev ## the doors of the kernels on a build with AddressSanitizer and UBSan: ASAN_COUNT=20000 ASAN_SEED=1
	@libasan=$$($${CC:-gcc} -print-file-name=libasan.so); test -e "$$libasan" || { echo "no AddressSanitizer: install gcc with libasan"; exit 1; }
	@rm -rf build/asan/lib && mkdir -p build/asan/lib && cp -r src/shredlake build/asan/lib && rm -f build/asan/lib/shredlake/kernels/compiled/*.so
	@SHREDLAKE_SANITIZE=1 SHREDLAKE_REQUIRE_KERNELS=1 $(BIN)/python setup.py --quiet build_ext --build-temp build/asan --build-lib build/asan/lib
	@PYTHONPATH=build/asan/lib LD_PRELOAD=$$($${CC:-gcc} -print-file-name=libasan.so) \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc ARROW_DEFAULT_MEMORY_POOL=system \
	  $(BIN)/python tests/fuzz/run.py --unguided --sanitized --executions $(ASAN_COUNT) --seconds 3600 --seed $(ASAN_SEED) \
	  arrow-read arrow-get arrow-shred arrow-unshred arrow-from-arrow arrow-merge arrow-tally json json-split cast parquet-footer

bench-infer: build ## layouts against those of Spark's and DuckDB's writers, profiles, stability: many minutes
	@$(BIN)/python benchmarks/infer.py $(ARGS)

bench-ingest: build ## text to shredded files, against Spark's own writer: minutes
	@$(BIN)/python benchmarks/ingest.py $(ARGS)

bench-partitions: build ## planning on Spark over many partitions and files, beside Spark's own: minutes (ARGS="--partitions 10 100")
	@$(BIN)/python benchmarks/partitions.py $(ARGS)

bench-driver: build ## time and memory of the driver with many files, inputs and tasks: minutes (ARGS="--files 1000000")
	@$(BIN)/python benchmarks/driver.py $(ARGS)

bench-query: build ## path queries on Spark: ours, native, delta-spark, relational: many minutes (ARGS="--partitions 1000")
	@$(BIN)/python benchmarks/query.py $(ARGS)

bench-shapes: build ## queries on Spark that need more than typed paths, beside Spark's own: minutes
	@$(BIN)/python benchmarks/shapes.py $(ARGS)

bench-datasource: build ## format("shredlake") beside read, sql and Spark's own Variants: minutes
	@$(BIN)/python benchmarks/datasource.py $(ARGS)

bench-jsonbench: build ## JSONBench by sl.sql against chdb and DuckDB: minutes (ARGS="--rows 10000000")
	@$(INSTALL) "chdb>=4,<5"
	@$(BIN)/python benchmarks/jsonbench.py $(ARGS)

bench-sql-memory: build ## a large table joined and grouped within 2 GB: minutes
	@$(BIN)/python benchmarks/sql_memory.py $(ARGS)

bench-kernels: build ## kernels against DuckDB, Spark and pyspark on three shapes of JSON: minutes
	@$(BIN)/python benchmarks/kernels.py $(ARGS)

bench-parquet: build ## files against pyarrow, DuckDB, Spark and JSON text: minutes
	@$(BIN)/python benchmarks/parquet.py $(ARGS)

bench-memory: build ## a 3 GB file inspected, checked and filtered within 1 GB
	@$(BIN)/python benchmarks/memory.py $(ARGS)

bench-delta: build ## a log of a million files: opened, pruned by one path, against JSON statistics and deltalake: minutes
	@$(BIN)/python benchmarks/delta.py $(ARGS)

$(VENV)-delta/.installed:
	@test -x $(VENV)-delta/bin/python || $(PYTHON) -m venv $(VENV)-delta
	@if $(VENV)-delta/bin/python -m pip install --quiet --disable-pip-version-check "pyspark>=4.2,<4.3" "delta-spark>=4.4,<4.5"; \
	then touch $@; else echo "delta-spark can't be installed here: its tests are skipped"; fi

interop: build $(VENV)-delta/.installed ## Spark, delta-spark, delta-rs, DuckDB and S3 against our tables: minutes
	@SHREDLAKE_CASES=$${SHREDLAKE_CASES:-60} $(BIN)/python -m pytest -q tests/interop

interop-delta: build $(VENV)-delta/.installed ## delta-spark and our pipeline on Spark 4.2; fails where they can't be installed: minutes
	@SHREDLAKE_DELTA_SPARK=required $(BIN)/python -m pytest -q tests/interop/test_delta_spark.py tests/interop/test_delta_spark_beside_ours.py tests/interop/test_clusters.py -k "delta or spark_4_2"

$(VENV)-oldest/.installed: pyproject.toml
	@test -x $(VENV)-oldest/bin/python || $(PYTHON) -m venv $(VENV)-oldest
	@$(VENV)-oldest/bin/python -m pip install --quiet --disable-pip-version-check "setuptools>=77" "cython>=3.2,<4"
	@$(VENV)-oldest/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[dev]" "pyspark>=4.1,<4.2"
	@touch $@

interop-oldest: build $(VENV)-oldest/.installed ## the Spark tests on Spark 4.1, the oldest that we support: minutes
	@$(VENV)-oldest/bin/python -m pytest -q tests/interop/test_parquet_spark.py tests/interop/test_spark_*.py

kill-convert: build ## a conversion of ten million rows of JSON text, killed at ten moments and resumed: minutes
	@SHREDLAKE_CONVERT_ROWS=$${SHREDLAKE_CONVERT_ROWS:-10000000} SHREDLAKE_KILLS=$${SHREDLAKE_KILLS:-10} $(BIN)/python -m pytest -q -s tests/unit/jobs/test_convert.py
faults: build ## every fault at every storage call of every operation, as a table in build/faults.md: many minutes
	@$(BIN)/python tests/faults/run.py $(ARGS)

.PHONY: faults-before
faults-before: build ## the same harness on the code before the repairs, where it must find broken promises: minutes
	@rm -rf build/before && mkdir -p build/before && git archive 89c6aaf src | tar -x -C build/before
	@PYTHONWARNINGS=ignore PYTHONPATH=build/before/src $(BIN)/python tests/faults/run.py memory local \
	  --operations vacuum convert ingest --step 6 --triples 0 --out build/faults-before.md $(ARGS); \
	  code=$$?; test $$code = 3 || { echo "exit code $$code: the harness found no broken promise, or did not run"; exit 1; }

races: build ## 8 processes, 25 commits each, mixed operations, on local files and on S3, checked as one history: minutes
	@$(BIN)/python tests/races/run.py $(ARGS)

pipelines: build ## 1,000 random DataFrame pipelines over read and the data source, beside Spark's own: an hour
	@SHREDLAKE_PIPELINES=$${SHREDLAKE_PIPELINES:-1000} $(BIN)/python -m pytest -q tests/interop/test_spark_pipelines.py

kill: build ## processes killed at their commit; workers, executors and drivers at random moments: minutes
	@SHREDLAKE_KILLS=$${SHREDLAKE_COMMIT_KILLS:-20} $(BIN)/python -m pytest -q -s tests/faults/test_commit_kills.py
	@SHREDLAKE_KILLS=$${SHREDLAKE_KILLS:-5} $(BIN)/python -m pytest -q -s tests/interop/test_kills.py tests/interop/test_clusters.py
	@SHREDLAKE_KILLS=$${SHREDLAKE_KILLS:-20} $(BIN)/python -m pytest -q -s tests/interop/test_spark_datasource_kills.py tests/interop/test_spark_datasource_connect.py tests/interop/test_spark_datasource_stream.py

clean: ## remove everything that can be rebuilt
	rm -rf $(VENV) .venv-* build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src -name '*.so' -delete
