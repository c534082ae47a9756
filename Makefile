# Every target sets up what it needs; `make test` and `make demo` on a fresh checkout are enough.
.DEFAULT_GOAL := help
PY := .venv/bin/python

NATIVE := src/netclaim/chained/netclaim-attach

.PHONY: $(shell awk -F: '/^[a-z-]+:/{print $$1}' $(firstword $(MAKEFILE_LIST)))

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## prepare .venv, and Debian packages as root
	@./scripts/setup.sh

native: $(NATIVE) ## the chained CNI plugin, compiled from native/ (setup calls this)

# Static, since it runs on whatever the node has; renamed into place, since a runtime may be running
# the one before.
$(NATIVE): $(wildcard native/*.c native/*.h)
	@mkdir -p $(@D)
	@gcc -std=gnu11 -D_GNU_SOURCE -Os -s -static -Wall -Wextra -Werror \
	  -o $@.new $(filter %.c,$^)
	@mv $@.new $@

parts: setup # what the lab runs, built once into the cache; only root can run it
	@if [ "$$(id -u)" = 0 ]; then $(PY) -m lab build; fi

lint: setup ## ruff, mypy, import-linter
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports

test: lint parts ## lint, then all four rungs of tests
	$(PY) scripts/run_tests.py

test-versions: setup ## demo, lifecycle and some faults on each Kubernetes of the lab (root; takes a long time)
	$(PY) -m scripts.run_versions $(VERSIONS)

soak: setup ## start and end 2,000 pods and 900 shares, and check that nothing grows or stays (root)
	NETCLAIM_SOAK=2000 NETCLAIM_SHARES=300 NETCLAIM_SHARES_ROUNDS=3 \
		$(PY) -m pytest -s tests/embedded/test_soak.py tests/embedded/test_shares_soak.py

demo: setup ## the demo of the KubeCon talk, on an embedded cluster
	@.venv/bin/netclaim demo

docs: setup ## the documentation as a site, in .site/
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

LOCK := .venv/bin/uv pip compile --quiet pyproject.toml --generate-hashes --universal \
  --no-emit-index-url --custom-compile-command "make lock"

lock: setup ## generate the lock files from pyproject.toml
	$(PY) -m pip install --quiet uv
	$(LOCK) --group dev --extra otel --output-file requirements.lock
	$(LOCK) --extra otel --constraint requirements.lock --no-annotate \
	  --output-file requirements-runtime.lock

chart: setup ## make the chart's README and schema, and the manifests in deploy/
	$(PY) scripts/policy_files.py
	$(PY) scripts/chart_files.py

proto: setup ## generate the protobuf modules from the .proto files
	$(PY) scripts/gen_proto.py

clean: ## remove .venv and caches of this checkout
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .site dist $(NATIVE)
