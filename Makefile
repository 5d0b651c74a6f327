# Two commands set everything up: `make demo` and `make test`. VENV and PYTHON may be overridden.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUNS ?= runs.jsonl
DEMO := instances/real/demo-lingjun-8.json

GATES := --solver greedy --solver search --solver cp-sat \
	--require 'cp-sat.ratio>=1' --require 'greedy.mean_ratio>=0.99' --require 'greedy.worst_ratio>=0.93' \
	--require 'greedy.ratio>=guarantee' --require 'search.mean_ratio>=0.998' --require 'search.worst_ratio>=0.98' \
	--require 'search.objective>=greedy.objective'

.PHONY: demo test lint format bench gates clean

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

gates: $(VENV)/.installed  ## approximation quality on cases and small, against fixed thresholds and an earlier run
	$(BIN)/crop bench cases small $(GATES) --baseline benchmarks/gates.json --runs $(RUNS)

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
	$(BIN)/python -m benchmarks.solvers

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
