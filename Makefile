# Needs Python 3.11+, make and git; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input
TEST_PROCESSES ?= 4
MINUTES ?= 10
SEED ?= 1
SECONDS_TO_RUN ?=
QUICK ?=
EVERYTHING ?=

.PHONY: help demo test matrix check docs pictures reference messages bench chaos clean

help:
	@echo "make demo  [SECONDS_TO_RUN=45]   web, worker, beat and admin with embedded Redis and SQLite"
	@echo "make test  [EVERYTHING=1]        the whole test suite with embedded PostgreSQL and Redis"
	@echo "make matrix                      unit and integration tests on each Python that is installed and each Django"
	@echo "make check                       format, lint, types, layers, dead code, security, migrations, system checks"
	@echo "make docs                        the documentation as pages, in site/; warnings are errors"
	@echo "make pictures                    take the pictures of docs/images anew, with Chromium"
	@echo "make reference                   write the pages of docs/ that are made of code"
	@echo "make messages                    bring the catalogs of translations up to date with the code"
	@echo "make bench [QUICK=1]             compare with the peers; QUICK takes under a minute"
	@echo "make chaos [MINUTES=10 SEED=1]   random faults, judged by the ledger"
	@echo "make clean                       remove the virtual environment and everything generated"

# The stamps are older than a changed lock file, so a new lock installs again and nothing else does.
$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: requirements/demo.txt pyproject.toml | $(BIN)/python
	@echo "installing what the demo needs into $(VENV)"
	$(PIP) -r requirements/demo.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/dev.stamp: requirements/dev.txt pyproject.toml | $(BIN)/python
	@echo "installing what development needs into $(VENV)"
	$(PIP) -r requirements/dev.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $@ $(VENV)/demo.stamp

demo: $(VENV)/demo.stamp
	@SECONDS_TO_RUN=$(SECONDS_TO_RUN) $(BIN)/python -m project.demo

test: $(VENV)/dev.stamp
	@BIN=$(BIN) TEST_PROCESSES=$(TEST_PROCESSES) EVERYTHING=$(EVERYTHING) bash tests/run.sh

matrix:
	@TEST_PROCESSES=$(TEST_PROCESSES) bash .ci/matrix

check: $(VENV)/dev.stamp
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive routines_app project .ci manage.py
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py check
	PYTHONPATH=.ci $(BIN)/python -m reference --check
	$(BIN)/python .ci/messages.py --check
	$(BIN)/python .ci/audit.py

reference: $(VENV)/dev.stamp
	PYTHONPATH=.ci $(BIN)/python -m reference

pictures: $(VENV)/dev.stamp
	ROUTINES_PICTURES=docs/images $(BIN)/pytest -q tests/browser/test_pictures_of_docs.py

messages: $(VENV)/dev.stamp
	$(BIN)/python .ci/messages.py

# Not --quiet: what is not logged is not counted, and --strict would pass everything. The variable is for a notice of the theme.
docs: reference
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html; with the search: $(BIN)/python -m http.server --directory site"

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks $(if $(QUICK),--quick)

chaos: $(VENV)/dev.stamp
	$(BIN)/python -m tests.chaos --minutes $(MINUTES) --seed $(SEED)

clean:
	rm -rf $(VENV) .demo .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage* htmlcov
	rm -rf .matrix dist build site test-results project.sqlite3* .secret_key
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
