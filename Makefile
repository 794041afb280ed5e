# The two that matter: `make run` serves, `make test` tests. Both set up what they need in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=
SECONDS ?= 600

.PHONY: run test quick test-long check lint types contracts bench fuzz generate clean

run: $(VENV)/.run
	$(BIN)/millstream serve $(ARGS)

test: $(VENV)/.dev
	$(BIN)/python -m pytest -m "not long" $(ARGS)

quick: $(VENV)/.dev
	$(BIN)/python -m pytest -m "not long and not slow and not system and not compat" $(ARGS)

test-long: $(VENV)/.dev
	$(BIN)/python -m pytest $(ARGS)

check: lint types contracts test

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/lint-imports

fuzz: $(VENV)/.dev
	nice $(BIN)/python -m tools.fuzz --seconds $(SECONDS) $(ARGS)

bench: $(VENV)/.dev
	$(BIN)/python -m bench.foundation $(ARGS)

generate: $(VENV)/.dev
	$(BIN)/python -m tools.generate_messages
	$(BIN)/python -m tools.generate_settings
	$(BIN)/python -m tools.generate_protocol

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable ".[dev]"
	@touch $@ $(VENV)/.run
