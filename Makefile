# Every target makes the virtual environment it needs; a fresh clone and Python 3.11 or newer are enough.

PYTHON ?= python3
WORKERS ?= 2
PIP := --quiet --disable-pip-version-check -c constraints.txt

export MPLBACKEND := Agg
unexport PYTHONWARNINGS PYTHONPATH PYTHONHOME
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install test soak bounds check lint types docs bench reproduce clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: .venv/.installed ## make .venv: the package, editable, with its tests, docs and video tools

test: .venv/.installed ## run every test that needs neither a browser nor torch
	$(TEST_ENV) .venv/bin/python -m pytest -n $(WORKERS)

soak: .venv/.installed ## the full counts of kills, damages and failed writes, some minutes
	$(TEST_ENV) NUCLEATE_SOAK=1 .venv/bin/python -m pytest -n $(WORKERS) tests/test_ensemble_crash.py tests/test_ensemble_cluster.py

bounds: .venv/.installed ## the tests of compiled code once more, every index checked
	$(TEST_ENV) NUMBA_BOUNDSCHECK=1 .venv/bin/python -m pytest -n $(WORKERS) tests/test_kernels.py tests/test_invariants.py tests/test_causal.py

check: lint types test bounds docs ## all that must pass: lint, types, tests, indices, docs

lint: .venv/.installed ## ruff: format and rules
	.venv/bin/ruff format --check src tests docs
	.venv/bin/ruff check src tests docs

types: .venv/.installed ## mypy, strict
	.venv/bin/mypy

docs: .venv/.installed ## build the documentation into docs/_build; a warning is an error
	.venv/bin/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html

bench: .venv-bench/.installed ## measure against NumPy, SciPy, JAX and diffrax, in an environment of its own
	.venv-bench/bin/nucleate bench drift
	.venv-bench/bin/nucleate bench batch
	.venv-bench/bin/nucleate bench life
	.venv-bench/bin/nucleate bench ensemble

reproduce: .venv/.installed ## redo the figures and the table of the paper, and write reproduction/report.html
	.venv/bin/nucleate reproduce

clean: ## remove what was built, not the environments
	rm -rf build dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.installed: EXTRAS := dev,docs,video,cluster
.venv-bench/.installed: EXTRAS := bench

# An environment that is already there is used again; the stamp says it holds what these two files ask for.
.venv/.installed .venv-bench/.installed: pyproject.toml constraints.txt
	@$(@D)/bin/python -m pip --version >/dev/null 2>&1 || { \
	  $(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "nucleate needs Python 3.11 or newer, but $(PYTHON) is Python %d.%d. Use another: make PYTHON=python3.11 ..." % v[:2])' && \
	  $(PYTHON) -m venv $(@D); }
	@echo "installing nucleate[$(EXTRAS)] into $(@D): minutes the first time, seconds later"
	$(@D)/bin/python -m pip install $(PIP) hatchling editables
	$(@D)/bin/python -m pip install $(PIP) --no-build-isolation -e '.[$(EXTRAS)]'
	@touch $@
