# `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STATIC := services/api/static/index.html
WEB_SOURCES := $(shell find webui -path webui/node_modules -prune -o -type f -print 2>/dev/null)

.PHONY: help setup up web bpf test test-slow test-engines check check-types check-sources format pins proto bundle bundle-check bench-smallest bench-start soak fuzz-elf fuzz-api fuzz-gateway clean

help: ## this list
	@grep -hE '^[a-z%-]+:.*?## ' $(MAKEFILE_LIST) | awk -F ':.*?## ' '{printf "  make %-14s %s\n", $$1, $$2}'

up: $(VENV)/.run $(STATIC) ## everything on this machine: profiles what runs here and prints the URL (ARGS="--for 60s")
	@$(BIN)/fleetprof up $(ARGS)

setup: $(VENV)/.dev $(STATIC) ## install what development needs into .venv

TEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

test: $(VENV)/.dev $(STATIC) ## unit, integration and browser tests in ten minutes, two files at a time (ARGS="-k name")
	@$(TEST) $(ARGS)

test-slow: $(VENV)/.dev $(STATIC) ## the other tests: repeated faults, simulated days, deployments (ARGS="--part 1/3")
	@$(TEST) --slow $(ARGS)

test-engines: $(VENV)/.dev ## answers by Spark and ClickHouse beside ours: installs both, a gigabyte; needs Java 17
	@$(UV_INSTALL) --editable '.[engines]'
	@$(BIN)/python -m pytest tests/integration/lake/test_spark.py tests/integration/lake/test_clickhouse.py $(ARGS)

check: $(VENV)/.dev ## formatting, lint, types, import contracts, generated code is current, the wire is compatible
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target check-types check-sources

check-types: $(VENV)/.dev
	$(BIN)/mypy

check-sources: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PYTHONPATH=.:proto $(BIN)/lint-imports
	infra/check-generated
	infra/build-bpf check
	$(BIN)/python infra/wire.py

format: $(VENV)/.dev ## rewrite the sources in the one format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

pins: $(VENV)/bin/uv ## pin versions and digests of what .venv, images and bundle are made of (ARGS=--upgrade: the newest)
	infra/pins $(ARGS)

proto: $(VENV)/.dev ## regenerate the stubs beside the .proto files
	infra/generate-proto

bpf: ## compile the gateway's BPF program (clang); the object is committed
	infra/build-bpf

web: $(STATIC) ## build the web UI into the API's package

bench-%: $(VENV)/.dev ## measure: bench-gateway, bench-overhead, bench-store, bench-coverage, bench-symbolizer, bench-models, bench-lake, bench-ui
	@$(BIN)/python -m benchmarks.$* $(ARGS)

bench-smallest: $(VENV)/.dev $(STATIC) ## every benchmark at its smallest size: does it work (ARGS="store lake")
	@$(BIN)/python -m benchmarks.smoke_run $(ARGS)

bench-start: $(VENV)/.dev $(STATIC) ## how long `up` takes to be ready, and its memory and CPU time while idle
	@$(BIN)/python -m benchmarks.start $(ARGS)

soak: $(VENV)/.dev $(STATIC) ## half an hour of a simulated fleet: memory, lag, errors (ARGS="--minutes 5")
	@$(BIN)/python -m benchmarks.soak $(ARGS)

fuzz-elf: $(VENV)/.dev ## ten thousand corrupted symbol files (ARGS="--count 100000 --seed 2")
	@$(BIN)/python -m tests.corrupted_elf $(ARGS)

bundle: $(VENV)/bin/uv ## the gateway for nodes without Python: tarball and .deb in dist/ (infra/bundle/oldest: for older glibc)
	@$(BIN)/python infra/bundle

bundle-check: $(VENV)/bin/uv ## build the bundle twice and compare the bytes
	@$(BIN)/python infra/bundle --check

fuzz-api: $(VENV)/.dev ## strangers' requests to every route, from its own description (ARGS="--examples 1000 --seed 2")
	@$(BIN)/python -m tests.api_fuzzing $(ARGS)

fuzz-gateway: $(VENV)/.dev ## ten thousand corrupted inputs of each of the gateway's parsers (ARGS="--count 1000")
	@$(BIN)/python -m tests.corrupted_gateway $(ARGS)

clean: ## remove what the targets above made
	rm -rf $(VENV) build dist *.egg-info webui/node_modules services/api/static

# uv installs everything in pinned versions with digests (infra/pins); pip installs only uv. It trusts the certificates that
# the machine trusts, as pip does: a company's proxy may have its own authority.
UV_INSTALL := $(BIN)/uv pip install --quiet --compile-bytecode --system-certs --python $(BIN)/python
OURSELVES := --no-deps --no-build-isolation --editable .

$(VENV)/bin/uv: infra/requirements-install.txt
	@infra/check-python $(PYTHON)
	@echo "Making $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(VENV)/.run: pyproject.toml infra/docker/requirements-server.txt infra/docker/requirements-build.txt | $(VENV)/bin/uv
	@echo "Installing fleetprof into $(VENV) …"
	@$(UV_INSTALL) --require-hashes -r infra/docker/requirements-server.txt -r infra/docker/requirements-build.txt
	@$(UV_INSTALL) $(OURSELVES)
	@touch $@

$(VENV)/.dev: pyproject.toml infra/requirements-dev.txt infra/docker/requirements-build.txt | $(VENV)/bin/uv
	@echo "Installing fleetprof and its development tools into $(VENV) …"
	@$(UV_INSTALL) --require-hashes -r infra/requirements-dev.txt -r infra/docker/requirements-build.txt
	@$(UV_INSTALL) $(OURSELVES)
	@touch $@ $(VENV)/.run

$(STATIC): $(WEB_SOURCES) | $(VENV)/.run
	@echo "Building the web UI …"
	@$(BIN)/python infra/build-web.py
