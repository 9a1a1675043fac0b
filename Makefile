# make quickstart   the whole product in miniature, on text that is already on this machine
# make test         every test
# make check        tests, lint, format, types
# Needs only Python (>= 3.11) and make; everything is installed into $(VENV).

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: quickstart test lint types check install clean

quickstart: $(VENV)/.installed
	$(BIN)/litebert quickstart

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --numprocesses 2 --quiet

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/pyrefly check --python-interpreter-path $(BIN)/python

check: lint types test

install: $(VENV)/.installed

# torch first and alone: a package that depends on torch, installed before it, would bring another build of it.
$(VENV)/.torch: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) torch
	touch $@

$(VENV)/.installed: $(VENV)/.torch pyproject.toml
	$(PIP) --editable '.[plot,eval]'
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) --editable '.[plot,eval,hf,dev]'
	touch $@

clean:
	rm -rf $(VENV)
