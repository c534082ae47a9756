# Every target sets up what it needs; `make check`, `make test` and `make demo` on a fresh checkout
# are enough.
.DEFAULT_GOAL := help
PY := .venv/bin/python

ATTACH := src/netclaim/chained/netclaim-attach
KEEPER := src/netclaim/keeper/netclaim-keeper
NATIVE := $(ATTACH) $(KEEPER)

.PHONY: $(shell awk -F: '/^[a-z-]+:/{print $$1}' $(firstword $(MAKEFILE_LIST)))

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: venv ## lint and the pure tests, in a few minutes: no root, no compiler
	@started=$$(date +%s); $(MAKE) --no-print-directory lint test-pure; code=$$?; \
	  echo "make check took $$(($$(date +%s) - started)) s"; exit $$code

venv: # only .venv, which is all that lint and the pure tests need
	@./scripts/setup.sh --python

setup: venv ## prepare .venv, and Debian packages as root
	@./scripts/setup.sh

native: $(NATIVE) ## the chained CNI plugin and the driver's keeper, compiled from native/ (setup calls this)

$(ATTACH): $(wildcard native/*.c native/*.h)
$(KEEPER): $(wildcard native/keeper/*.c native/keeper/*.h)

# Static, since they run on whatever the node has; renamed into place, since the one before may be
# running.
$(NATIVE):
	@mkdir -p $(@D)
	@gcc -std=gnu11 -D_GNU_SOURCE -Os -s -static -Wall -Wextra -Werror \
	  -o $@.new $(filter %.c,$^)
	@mv $@.new $@

parts: setup # what the lab runs, built once into the cache; only root can run it
	@if [ "$$(id -u)" = 0 ]; then $(PY) -m lab build; fi

lint: venv ## ruff, mypy, import-linter
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports

test: lint parts ## lint, then all four rungs of tests
	$(PY) scripts/run_tests.py

test-pure: venv ## the pure rung
	$(PY) -m pytest -q tests/pure

test-root: setup ## the embedded and the reference rung (root)
	$(PY) -m pytest --durations=20 tests/embedded tests/reference

test-cluster: parts ## the cluster rung (root)
	$(PY) -m pytest --durations=20 tests/cluster

test-versions: setup ## demo, lifecycle and some faults on each Kubernetes of the lab (root; takes a long time)
	$(PY) -m scripts.run_versions $(VERSIONS)

soak: setup ## 2,000 pods, 900 shares and 1,000 flaps of a link: check that nothing grows or stays (root)
	NETCLAIM_SOAK=2000 NETCLAIM_SHARES=300 NETCLAIM_SHARES_ROUNDS=3 NETCLAIM_FLAPS=1000 \
		$(PY) -m pytest -s tests/embedded/soak tests/embedded/local/test_flaps.py

soak-pools: parts ## 300 pods of an address pool while the cluster is broken: no address twice, none lost (root; an hour)
	NETCLAIM_POOL_PODS=300 NETCLAIM_POOL_ROUNDS=2 NETCLAIM_POOL_COLLECTIONS=240 \
		$(PY) -m pytest -s tests/cluster/chart/test_chart_pool_faults.py

demo: setup ## the demo of the KubeCon talk, on an embedded cluster
	@.venv/bin/netclaim demo

docs: venv ## the documentation as a site, in .site/
	@$(PY) scripts/site.py

lab-demo: parts ## the same on a real Kubernetes, which is removed afterwards (root)
	@$(PY) -m lab demo

bench: parts ## measure the costs, as ratios within one run (root)
	$(PY) -m benchmarks

faults: parts ## break everything while pods start, run and end, and audit the result (root; takes a long time)
	$(PY) -m faults $(FAULTS)

lab-up: setup ## boot a real Kubernetes on this machine (root)
	@$(PY) -m lab up

lab-down: setup ## remove it again
	@$(PY) -m lab down

wheel: setup ## the wheel and the source distribution, into dist/
	@rm -f dist/*.whl dist/*.tar.gz
	@$(PY) -m hatchling build

image: setup ## the container image as a file, and its sizes; no container engine is needed
	@mkdir -p dist
	@$(PY) -m lab image build --output dist/netclaim-image.tar

release: setup ## the files of a release, from the tag that is checked out, into dist/
	@$(PY) -m scripts.release $(RELEASE)

LOCK := .venv/bin/uv pip compile --quiet pyproject.toml --generate-hashes --universal \
  --no-emit-index-url --custom-compile-command "make lock"

lock: setup ## generate the lock files from pyproject.toml
	$(PY) -m pip install --quiet uv
	$(LOCK) --group dev --extra otel --output-file requirements.lock
	$(LOCK) --extra otel --constraint requirements.lock --no-annotate \
	  --output-file requirements-runtime.lock

files: setup ## write all that follows from declarations: tables in docs/, schemas, dashboard, chart, deploy/
	$(PY) scripts/settings_schema.py
	$(PY) scripts/driver_page.py
	$(PY) scripts/dashboard.py
	$(PY) -m scripts.policy_files
	$(PY) scripts/chart_files.py

proto: setup ## generate the protobuf modules from the .proto files
	$(PY) scripts/gen_proto.py

clean: ## remove .venv and caches of this checkout
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .site dist $(NATIVE)
