# Everything needs Python 3.11+ and a package index; the virtual environment is made on first use.
# Of another Python, beside it: make test PYTHON=python3.13 VENV=.venv-python3.13
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help same-python setup dev browser run test lint schema bench clean

help: ## say what there is to make
	@sed -n 's/^\([a-z]*\):.*## /make \1	/p' Makefile

setup: $(VENV)/.runtime ## make the virtual environment

dev: $(VENV)/.dev ## add what the tests, the linters and the bake-off need

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)

same-python: | $(BIN)/python # an environment that stands may be of another Python than is asked for
	@[ "$(origin PYTHON)" = file ] && exit; \
	asked=$$($(PYTHON) -V) && found=$$($(BIN)/python -V) && [ "$$asked" = "$$found" ] && exit; \
	echo "$(PYTHON) is $${asked:-not there}, $(VENV) is of $${found:-no Python}: add VENV=.venv-$(notdir $(PYTHON)), or run make clean first" >&2; exit 1

$(VENV)/.runtime: requirements.txt | same-python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.runtime | same-python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

browser: # for the tests that look at a page; root can install one, anybody else is told
	@command -v chromium chromium-browser google-chrome >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	else echo "no chromium on PATH: the browser tests are left out; install it to run them"; fi

run: $(VENV)/.runtime ## repeat Table 18.4 and print it
	$(BIN)/python -m lab run experiments/table184.yaml

test: $(VENV)/.dev browser ## run all tests
	$(BIN)/python -m pytest -n 4

lint: $(VENV)/.dev ## style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .

schema: $(VENV)/.runtime ## write the JSON Schemas and the tables of keys in docs/ from the models
	$(BIN)/python -m lab.spec.schema docs

bench: $(VENV)/.dev ## speed against peers, side by side
	$(BIN)/python -m benchmarks.front_overhead
	$(BIN)/python -m benchmarks.pipeline_overhead
	$(BIN)/python -m benchmarks.waiting_calls
	$(BIN)/python -m benchmarks.million_calls
	$(BIN)/python -m benchmarks.load
	$(BIN)/python -m benchmarks.proxy_overhead

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
