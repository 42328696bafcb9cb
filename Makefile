# The front door.  `make demo` and `make test` set up all they need; nothing needs root.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export UV_PYTHON_DOWNLOADS := never
# What requirements/dev.txt comes to on Linux (x86-64), pyspark 456 MB of it; look again after `make lock`.
FETCHED := about 700 MB
# uv shows bars on a terminal; elsewhere it would list every package.
UV_SAYS = quiet=--quiet; if test -t 1 && test -t 2; then quiet=; fi;
HOT := $(shell sed 's/\#.*//' hot_modules.txt)

.PHONY: help setup build browser demo test test-versions check soak bench docs format lock clean
help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 15

$(VENV)/.ready: requirements/uv.txt requirements/dev.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "missing: $(PYTHON); install Python 3.11 or newer, or say make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "missing: Python 3.11 or newer ($(PYTHON) is $$($(PYTHON) -V)); say make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "missing: Python's venv module (on Debian: apt install python3-venv)"; exit 1; }
	@echo "weft: setting up $(VENV) ($$($(PYTHON) -V)) with $$(grep -c == requirements/dev.txt) packages: $(FETCHED) to fetch, two thirds of it Spark, unless uv has them in its cache"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@$(UV_SAYS) $(BIN)/uv pip install $$quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@$(BIN)/uv pip uninstall --quiet --python $(BIN)/python weft 2>/dev/null || true  # as this project was called once
	@WEFT_PURE=1 $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@echo "weft: $(VENV) is ready"
	@touch $@

# Compiled in place.  Pure Python stands in where there is no compiler, so this step may do nothing but never fails.
# The stamp has the time of the beginning: a source that is changed meanwhile is newer.
$(VENV)/.built: $(VENV)/.ready setup.py mypyc.ini hot_modules.txt $(HOT)
	@rm -f src/weft/*/*.so src/weft/*/*/*.so src/*.so
	@touch $(VENV)/.building
	@echo "weft: building the hot modules"
	@$(BIN)/python setup.py -q build_ext --inplace >$(VENV)/build.log 2>&1 || true
	@grep '^weft:' $(VENV)/build.log || true
	@mv $(VENV)/.building $@

# Is there a whole build of these very sources?  What `find` complains of, such as a hot module that is gone, counts as "no".
BUILT = test -e $(VENV)/.built && test -z "$$(find $(VENV)/.ready setup.py mypyc.ini hot_modules.txt $(HOT) -newer $(VENV)/.built 2>&1)"

setup: $(VENV)/.ready
build: $(VENV)/.built ## compile the hot modules (pure Python where there is no compiler)

# Nobody waits minutes for a compiler to see something.  A build that is not whole or not of these sources is passed over.
demo: setup ## run the mixed scenario (aircraft, tank, observer), and review it on Spark
	@if $(BUILT); then $(BIN)/weft demo; else echo "weft: pure Python, as nothing is compiled; 'make build' takes some minutes and makes it faster"; WEFT_PURE=1 $(BIN)/weft demo; fi

# Tests of pages run in a real browser.  It is installed where that is allowed; elsewhere one line says what is left out.
BROWSER = test -n "$$WEFT_CHROMIUM$$(for one in chromium chromium-browser google-chrome google-chrome-stable; do command -v $$one; done)"
browser:
	@if ! $(BROWSER); then \
	  if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
	    echo "weft: installing chromium for the tests of pages"; \
	    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium; } >/dev/null 2>&1 || true; \
	  fi; \
	  $(BROWSER) || echo "weft: no browser, so the tests of the console's pages, of reports and of the site are left out (on Debian: apt install chromium)"; \
	fi

# A third process works while two wait, for a process to end or a cable to be found dead.
test: build browser ## run all tests
	$(BIN)/pytest -n 3 --dist loadgroup -m "not soak"
	WEFT_PURE=1 $(BIN)/pytest -n 2 -m "not soak and not over_nodes" tests/kernel tests/federate tests/host/recording/test_recorder_fate.py tests/host/event_channel/test_channel_datagrams.py

test-versions: setup ## a chosen part of the tests on Python 3.11, 3.12 and 3.13, as far as they are here, compiled and pure
	$(BIN)/python tests/support/versions.py $(VERSIONS)

check: build ## ruff, mypy --strict, import-linter, the public surface, the figures of the house, the site
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=benchmarks $(BIN)/lint-imports --no-cache
	$(BIN)/pytest -q tests/test_public_surface.py
	$(BIN)/python tests/support/house.py
	$(SITE)

soak: build ## the long tests
	$(BIN)/pytest -n 2 --dist worksteal -m soak --timeout 3600

bench: build ## the benchmark table of docs/benchmarks.md
	$(BIN)/weft bench embedded

SITE := WEFT_PURE=1 $(BIN)/sphinx-build -q -W --keep-going -d build/doctrees docs build/site

docs: setup ## the documentation as a site, in build/site; docs/reference/services.md and docs/reference/exceptions.md anew
	@WEFT_PURE=1 $(BIN)/weft services --markdown > docs/reference/services.md
	@WEFT_PURE=1 $(BIN)/weft errors --markdown > docs/reference/exceptions.md
	@$(SITE)
	@echo "weft: the site is there, open build/site/index.html"

format: setup ## rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: setup ## write requirements/*.txt anew
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --upgrade --custom-compile-command "make lock" -o requirements/uv.txt requirements/uv.in
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --upgrade --custom-compile-command "make lock" -o requirements/dev.txt requirements/dev.in

clean: ## remove what the commands above made
	rm -rf $(VENV) $(VENV)-3.* build src/*.egg-info src/*.so src/weft/*/*.so src/weft/*/*/*.so
