# `make` explains itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
TESTS ?= tests
ENGINE_SOURCES := setup.py $(wildcard csrc/*.h csrc/*.cpp)

.DEFAULT_GOAL := help
.PHONY: help install demo test test-slow test-data sanitize lint format docs bench browser clean

help:  ## what there is
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(VENV)/engine  ## a virtual environment in .venv with everything, the C++ engine built

# PyTorch first: the engine is built against its headers.
$(VENV)/packages: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) torch numpy setuptools wheel
	$(PIP) --no-build-isolation --editable '.[cluster,dev]'
	touch $@ $(VENV)/engine

$(VENV)/engine: $(VENV)/packages $(ENGINE_SOURCES)
	$(BIN)/python setup.py --quiet build_ext --inplace
	touch $@

demo: install  ## five minutes: three networks learn to remember, and a page shows what they learned
	$(BIN)/slowfade demo

test: install browser  ## the default tests
	$(BIN)/python -m pytest -q $(TESTS)

test-slow: install browser  ## the tests that take minutes
	$(BIN)/python -m pytest -q -m slow $(TESTS)

test-data: install  ## the tests on the real data sets, found through SLOWFADE_DATA
	$(BIN)/python -m pytest -q -m data $(TESTS)

sanitize: install  ## the C++ engine's tests under the address and undefined-behaviour sanitizers
	PYTHON=$(CURDIR)/$(BIN)/python sh tests/engines/sanitize.sh

lint: install  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install  ## put the style right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: install  ## the documentation, into site/
	$(PIP) --no-build-isolation --editable '.[docs]'
	$(BIN)/mkdocs build --strict --quiet

bench: install  ## the engines side by side
	$(BIN)/slowfade bench

# The pages are tested in a real browser. Where none can be had those tests say so and are skipped.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } || \
	  echo "no Chromium here: install it to run the tests of the pages"

clean:  ## remove everything that was made
	rm -rf $(VENV) build dist site src/*.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis .benchmarks
	find src tests -name __pycache__ -prune -exec rm -rf {} +
	rm -f src/slowfade/*.so
