PYTHON ?= python3
BIN := .venv/bin
DONE := .venv/.installed
BENCH_DONE := .venv/.installed-bench
ROWS ?= 50000 500000
# uv takes a quarter of pip's time; pip steps in where only pip knows the way to the packages.
FROM_LOCK := --quiet --constraint requirements.lock --editable
UV := $(BIN)/uv pip install --system-certs --python $(BIN)/python --compile-bytecode $(FROM_LOCK)
PIP := $(BIN)/pip install --disable-pip-version-check $(FROM_LOCK)

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow bench bench-sftp lint format up lock

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(DONE) ## Make .venv with the exact versions of requirements.lock

$(DONE): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'feedmill needs Python 3.11 or later: make setup PYTHON=python3.11'; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock uv
	$(UV) '.[dev]' || $(PIP) '.[dev]'
	@touch $(DONE)

demo: setup ## The main job end to end: an SFTP server, two days of a catalogue, prices and offers
	$(BIN)/feedmill demo

test: setup ## The whole test suite but the slow proofs, and the map from the specification to the tests
	$(BIN)/pytest -m 'not slow' --spec --numprocesses 3 --dist worksteal

test-slow: setup ## The slow proofs
	$(BIN)/pytest -m slow --numprocesses 2

bench: $(BENCH_DONE) ## Measure ledger, shelf, offers, gates and catalogue; writes benchmarks/results and the tables in benchmarks/README.md
	$(BIN)/python -m benchmarks.ledger
	$(BIN)/python -m benchmarks.shelf
	$(BIN)/python -m benchmarks.offers
	$(BIN)/python -m benchmarks.false_alarms
	$(BIN)/python -m benchmarks.catalogue --rows $(ROWS)

$(BENCH_DONE): $(DONE)
	$(UV) '.[dev,bench]' || $(PIP) '.[dev,bench]'
	@touch $(BENCH_DONE)

bench-sftp: setup ## Measure fetching against OpenSSH's own sftp; needs its server (Debian: openssh-server)
	$(BIN)/python -m benchmarks.sftp

lint: setup ## Style, types and the import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup ## Put the code into the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

up: setup ## Not yet: the whole thing on one machine
	@echo 'not yet: server, worker and schedules on one machine come with the ledger'

lock: $(BENCH_DONE) ## Write requirements.lock anew from what is installed
	$(BIN)/pip freeze --exclude-editable --exclude feedmill | LC_ALL=C sort --ignore-case > requirements.lock
