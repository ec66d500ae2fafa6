# Everything runs in a virtual environment of the checkout. The two commands that matter: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-full test-slow test-browser docs check format bench clean
PYTEST := OMP_NUM_THREADS=1 PYTHONHASHSEED=0 $(BIN)/python -m pytest -n 2 --dist worksteal

demo: $(VENV)/.installed
	@$(BIN)/versadp demo

test: check
	$(PYTEST) -q --doctest-modules src
	$(PYTEST) -rs

test-full: $(VENV)/.tested
	$(PYTEST) -rs -m "full and not slow"

test-slow: $(VENV)/.tested
	$(PYTEST) -m slow

test-browser: $(VENV)/.browser
	$(BIN)/python -m pytest -m browser -rs tests/browser

check: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.tested
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.tested
	$(BIN)/versadp bench

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "versadp needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(PIP) -e '.[report,accounting,jax,docs,test,check]'
	@touch $@

$(VENV)/.documented: $(VENV)/.installed
	$(PIP) -e '.[docs]'
	@touch $@

docs: $(VENV)/.documented
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

$(VENV)/.browser: $(VENV)/.tested
	$(PIP) -e '.[report,browser]'
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
