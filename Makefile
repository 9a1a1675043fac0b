# make quickstart   the whole product in miniature, on text that is already on this machine
# make test         every test
# make test-isa     the numeric tests with the instruction sets of older processors
# make docs         the site, in build/site
# make check        tests, lint, format, types
# Needs only Python (>= 3.11) and make; everything is installed into $(VENV).

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP_OPTIONS ?=
PIP := $(BIN)/python -m pip install $(PIP_OPTIONS) --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: quickstart test test-isa lint types check docs reference install clean

quickstart: $(VENV)/.installed
	$(BIN)/litebert quickstart

# Bytecode is written, also where the environment forbids it: each process would compile 400 files again.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal --quiet

# oneDNN, MKL and ATen are restricted to AVX2, so that kernels of another processor are tested, with two threads. A
# processor without AVX512 has had its kernels tested with one thread by `make test`, so fewer tests run there. Two
# processes of two threads share two cores, so threads that wait must not spin.
NUMERIC := tests/model tests/parity tests/inference tests/training/optim tests/training/loop tests/commands/predict \
	tests/commands/evaluate tests/commands/ensemble tests/interop tests/tasks
WITH_THREADS := tests/model/kernels tests/model/prepacked tests/parity tests/inference tests/training/loop
test-isa: $(VENV)/.installed-dev
	ONEDNN_MAX_CPU_ISA=AVX2 MKL_CBWR=AVX2 ATEN_CPU_CAPABILITY=avx2 OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive \
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal --quiet \
	$$(grep --quiet --no-messages avx512 /proc/cpuinfo && echo $(NUMERIC) || echo $(WITH_THREADS))

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror src/litebert/model/kernels/native/sources/*

types: $(VENV)/.installed-dev
	$(BIN)/pyrefly check --python-interpreter-path $(BIN)/python

check: lint types test

docs: $(VENV)/.installed-docs
	$(BIN)/python tools/build_site.py

# The pages of docs/reference that are made from the code, and the notebooks of the tutorials.
reference: $(VENV)/.installed-docs
	$(BIN)/python tools/generate_reference.py
	$(BIN)/python tools/make_notebooks.py

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
	$(PIP) --editable '.[plot,eval,hf,data,export,serve,otel,search,pandas,dev]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed-dev
	$(PIP) --editable '.[docs]'
	touch $@

clean:
	rm -rf $(VENV)
