# The two that matter: `make run` serves, `make test` tests. Both set up what they need in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=
WORKERS ?= 3
SECONDS ?= 600

# Many tests wait more than they work, so there are more workers than cores. Each file has one worker, in the
# order that tests/conftest.py gives.
PARALLEL := -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: run test quick test-long check lint types contracts bench demo fuzz generate compatibility clean

run: $(VENV)/.run
	$(BIN)/millstream serve $(ARGS)

test: $(VENV)/.dev $(VENV)/.spark
	$(BIN)/python -m pytest -m "not long" $(PARALLEL) $(ARGS)

quick: $(VENV)/.dev
	$(BIN)/python -m pytest -m "not long and not slow and not system and not compat and not spark" $(PARALLEL) $(ARGS)

test-long: $(VENV)/.dev $(VENV)/.spark
	$(BIN)/python -m pytest $(ARGS)

check: lint types contracts test

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/lint-imports

# Orders, a broker, Spark, an Iceberg table and a chart; needs Java.
demo: $(VENV)/.spark
	$(BIN)/millstream pipeline demo $(ARGS)

fuzz: $(VENV)/.dev
	nice $(BIN)/python -m tools.fuzz --seconds $(SECONDS) $(ARGS)

bench: $(VENV)/.dev
	$(BIN)/python -m bench.compare $(ARGS)

generate: $(VENV)/.dev
	$(BIN)/python -m tools.generate_messages
	$(BIN)/python -m tools.generate_settings
	$(BIN)/python -m tools.generate_protocol

# Every client there is a program for, and the table of how they did.
compatibility: $(VENV)/.dev $(VENV)/.spark
	$(BIN)/python -m pytest -m compat $(addprefix tests/compat/, \
		frameworks \
		go \
		java \
		js \
		kcat/test_scenarios.py \
		platforms \
		python \
		rust \
	) $(ARGS)
	$(BIN)/python -m tools.generate_compatibility

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# What an install is made from: when it changes, what was compiled is old.
BUILD := pyproject.toml hatch_build.py $(shell find src -name "*.[ch]")

$(VENV)/.run: $(BUILD) | $(BIN)/python
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(BUILD) | $(BIN)/python
	$(BIN)/pip install --quiet --editable ".[dev]"
	@touch $@ $(VENV)/.run

# Spark is 700 MB, so only those get it who run all tests.
$(VENV)/.spark: $(VENV)/.dev
	$(BIN)/pip install --quiet --editable ".[dev,spark]"
	@touch $@
