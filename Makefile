# Two commands set everything up: `make demo` and `make test`. VENV and PYTHON may be overridden.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO := instances/real/demo-lingjun-8.json

.PHONY: demo test lint format bench clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(VENV)/.installed  ## install, then place the jobs of a real instance
	$(BIN)/crop solve $(DEMO) --gap 0

test: $(VENV)/.installed-dev  ## all tests
	$(BIN)/python -m pytest -n 2 -q

lint: $(VENV)/.installed-dev  ## style, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-dev  ## the measurements behind the tables in benchmarks/results
	$(BIN)/python benchmarks/oracle.py
	$(BIN)/python benchmarks/greedy_scale.py
	$(BIN)/python benchmarks/exact_vs_textbook.py
	$(BIN)/python -m benchmarks.scale

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
