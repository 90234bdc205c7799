# Everything a newcomer needs: git, make and Python 3.11. The rest is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.run-time
CLIENTS_STAMP := $(VENV)/.clients
STAMP := $(VENV)/.installed
SHELL := /bin/bash
LIVE := $(shell test -t 2 && echo 1 || echo 0)
CLOUD = packages/hearth-devcloud
LOCKED = --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url --python-version 3.11 $(if $(UPGRADE),--upgrade-package $(UPGRADE))
CLOUD ?= admin
SEED ?= 0
N ?= 1000
FUZZ_S ?= 300
MINUTES ?= 12
TEMPEST_VENV := .tempest-venv
TEMPEST_STAMP := $(TEMPEST_VENV)/.installed
KEYSTONE_VENV := .keystone-venv
KEYSTONE_STAMP := $(KEYSTONE_VENV)/.installed
DASHBOARD_VENV := .dashboard-venv
DASHBOARD_STAMP := $(DASHBOARD_VENV)/.installed
REGEX ?=
HEAT_AGENTS := .guests/heat_agents-13.0.0.tar.gz

# the tests start many processes: compiled once, each loads itself in half the time
UNCOMPILED := $(PYTHONDONTWRITEBYTECODE)
export PYTHONDONTWRITEBYTECODE :=

.PHONY: install locks demo dev test test-rest check check-static new-type drift facts types second-steps nulls guests image real-cloud sim explore mutations crash crash-types faults faults-in-detail odd-clouds soak fuzz fuzz-compiler fuzz-api language-server bombs hostile walk compare sweep attributes functional tempest tempest-clusters keystone dashboard peers bench docs pictures changelog packages wheel advisories deb container clean

# each of the three installs is a part of the next: what Hearth needs, the clients, all for development
install: $(STAMP)

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Hearth needs Python 3.11 or newer; set PYTHON=…"; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed: on Debian, apt install python3-venv"; exit 1; }

$(RUN_STAMP): requirements/run-time.lock pyproject.toml | $(VENV)/bin/pip
	$(call installed,run-time,Hearth)

$(CLIENTS_STAMP): requirements/clients.lock $(RUN_STAMP)
	$(call installed,clients,the openstack client)

$(STAMP): requirements/development.lock $(RUN_STAMP)
	$(call installed,development,the tools for development)

# pip says each package that it looks at; one line shows how far it is
# where Python may not write compiled modules, each command would compile all its libraries again
define installed
	@echo "Installing $(2) into $(VENV), once"
	@set -o pipefail; count=$$(grep -c == requirements/$(1).lock); \
	$(BIN)/python -m pip install --disable-pip-version-check --require-hashes --no-compile --progress-bar off -r requirements/$(1).lock \
	| awk -v count=$$count -v live=$(LIVE) '/^(Collecting|Requirement already)/ {if (n < count) n++; if (live) {printf "\r  %d of %d packages", n, count; fflush()}} \
	/^Installing collected/ {printf (live ? "\r" : "") "  unpacking %d packages\n", NF - 3}'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable packages/hearth-devcloud
	@test -z "$(UNCOMPILED)" || $(BIN)/python -m compileall -q -j 0 $(VENV)/lib src packages || true
	@touch $@
endef

# the locks from pyproject.toml, with uv; a package keeps its version unless UPGRADE=NAME names it
locks:
	@uv pip compile $(LOCKED) pyproject.toml --group build -o requirements/run-time.lock
	@uv pip compile $(LOCKED) pyproject.toml --group build --group clients -o requirements/clients.lock
	@uv pip compile $(LOCKED) pyproject.toml --group dev -o requirements/development.lock
	@uv pip compile $(LOCKED) $(CLOUD)/pyproject.toml --group $(CLOUD)/pyproject.toml:build -c requirements/run-time.lock -o $(CLOUD)/requirements.lock

demo: $(RUN_STAMP)
	@$(BIN)/hearth demo

# make dev PORT=0 takes any free port
dev: $(CLIENTS_STAMP)
	@$(BIN)/hearth dev --data .hearth $(if $(PORT),--port $(PORT))

# six at a time, also on two cores: many tests wait for something; those of a file share a cloud
test: install
	@$(BIN)/pytest -n 6 --dist loadfile --no-loadscope-reorder

# the cases that make test leaves out
test-rest: install
	@HEARTH_SUITE=rest $(BIN)/pytest -n 6 --dist loadfile --no-loadscope-reorder

check: check-static
	@$(BIN)/pytest -n 3 --dist loadfile -m "not slow"

check-static: install
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tests.dead_names
	@$(BIN)/python -m tests.vague_names

# the form of a new resource type, to fill in: make new-type TYPE=OS::Manila::ShareSnapshot
new-type: install
	@$(BIN)/python -m tests.types.new_type "$(TYPE)"

# every type against the recorded declarations of Heat
facts: install
	@$(BIN)/python -m tests.resources.facts

# every type: changes in the embedded cloud, property by property
drift: install
	@$(BIN)/python -m tests.drift.run --json tests/drift/result.json

# every type in generated templates: on the cloud in a box, or on one of your clouds.yaml
types: install
	@$(BIN)/python -m tests.types.run --json tests/types/result-devcloud.json

# what people do after a failed operation, for every type; TYPE=OS::Cinder::Volume: of one
second-steps: install
	@$(BIN)/python -m tests.second_steps.run --seed $(SEED) $(if $(TYPE),--type $(TYPE)) --json tests/second_steps/result.json

# every type: each property null, missing or empty
nulls: install
	@$(BIN)/python -m tests.types.nulls --json tests/types/result-nulls.json

# agents x transports x signals: ours, and os-collect-config with the hooks of heat-agents, whose wheel
# has none; AGENT=hearth: one of them
guests: install
	@$(MAKE) --silent --no-print-directory $(HEAT_AGENTS) || echo "heat-agents cannot be fetched: its combinations are left out"
	@$(BIN)/python -m tests.guests.run $(if $(AGENT),--agent $(AGENT),--json tests/guests/result.json)

# the image with cloud-init, for the tests of its servers; takes minutes, mmdebstrap and 250 MB
image: install
	@$(BIN)/hearth dev image build debian --data .guests

$(HEAT_AGENTS): tests/guests/requirements.txt | $(STAMP)
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-binary :all: \
	  --require-hashes --dest $(@D) -r $<
	@touch $@

# on a cloud that is there: every type, its drift, and the commands as the plain member MEMBER
MEMBER ?= demo
real-cloud: install
	@status=0; \
	$(BIN)/python -m tests.types.run --real $(CLOUD) --json tests/types/result-real.json || status=1; \
	$(BIN)/python -m tests.drift.run --real $(CLOUD) --json tests/drift/result-real.json || status=1; \
	$(BIN)/python -m tests.cli.apply.real $(MEMBER) --json tests/cli/apply/result-real.json || status=1; \
	exit $$status

# make sim STATS=1: also the branches of the engine that histories alone reach
sim: install
	@$(BIN)/python -m tests.sim.run --seed $(SEED) --count $(N) $(if $(STATS),--stats)

# every fault and every pair of faults at every point of a dozen small stories; SINGLES=1: no pairs
explore: install
	@$(BIN)/python -m tests.explore.run $(if $(SINGLES),--singles) --json tests/explore/result.json

mutations: install
	@$(BIN)/python -m tests.sim.mutate

crash: install
	@$(BIN)/python -m tests.crash.run --count $(N) --seed $(SEED)

crash-types: install
	@$(BIN)/python -m tests.crash.every --json tests/crash/result-types.json

DATABASE ?= postgresql
faults: install
	@$(BIN)/python -m tests.faults.table --database $(DATABASE) --json tests/faults/result.json

# the same on the level of single calls and transactions
faults-in-detail: install
	@$(BIN)/pytest -o addopts="" -v --no-header --tb=short tests/faults tests/engine/worker/test_faults.py

# odd answers of a cloud, each in one operation of a stack; ONLY='(each )?delete': some of them
odd-clouds: install
	@$(BIN)/python -m tests.odd_clouds.run $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only '$(ONLY)') --json tests/odd_clouds/result.json

# users and faults together for a long time: MINUTES=30, DATABASE=mariadb, SEED=1
soak: MINUTES = 30
soak odd-clouds: SEED =
soak: install
	@$(BIN)/python -m tests.faults.soak --database $(DATABASE) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) --json tests/faults/soak.json

# the compiler, then the three APIs on both databases; FUZZ_S, MINUTES and SEED as in the parts below
fuzz: MINUTES = 60
fuzz: fuzz-compiler
	@status=0; for database in postgresql mariadb; do \
	  $(MAKE) --silent --no-print-directory fuzz-api DATABASE=$$database MINUTES=$(MINUTES) || status=1; done; exit $$status

# every entrance of the compiler with odd inputs, FUZZ_S seconds each; findings stay in tests/fuzz/corpus
fuzz-compiler: install
	@$(BIN)/python -c 'import atheris' 2>/dev/null \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check 'atheris>=3,<4' 2>/dev/null \
	  || echo "atheris cannot be installed here: inputs are drawn at random, for twice as long"
	@$(BIN)/python -c 'import atheris' 2>/dev/null && s=$(FUZZ_S) || s=$$(( 2 * $(FUZZ_S) )); \
	  $(BIN)/python -m tests.fuzz.run --seconds $$s --seed $(SEED) --json tests/fuzz/result.json

# broken requests to all routes of the three APIs, by people of two tenants: DATABASE=mariadb or sqlite
fuzz-api: MINUTES = 60
fuzz-api: install
	@$(BIN)/python -m tests.fuzz.api.run --database $(DATABASE) --minutes $(MINUTES) --seed $(SEED) --json tests/fuzz/api/result-$(DATABASE).json

# the language server with every template of others and N broken ones; a line for each kind of request
language-server: install
	@$(BIN)/python -m tests.authoring.lsp.corpus --seed $(SEED) --count $(N)

# small inputs that ask for the impossible, each in 512 MiB and twenty seconds
bombs: install
	@$(BIN)/python -m tests.fuzz.confined

# hostile clients beside an innocent one, for so many minutes: its times, the memory, the end; then a table of kinds of
# work and crowds, ten minutes more
hostile: install
	@$(BIN)/python -m tests.hostile.run --minutes $(MINUTES) --json tests/hostile/result.json
	@$(BIN)/python -m tests.hostile.table --json tests/hostile/table.json

# over all routes, all rules, and all addresses as a stranger; a table each
walk: install
	@$(BIN)/python -m tests.walk

# the same requests to a running Heat and to Hearth; make compare HEARTH_ORIGINAL=http://127.0.0.1:8004
compare: install
	@test -n "$(HEARTH_ORIGINAL)" || { echo "set HEARTH_ORIGINAL to the address of a Heat that takes users' names as tokens"; exit 1; }
	@$(BIN)/python -m tests.comparison.run $(HEARTH_ORIGINAL)

# variants of each type, judged by a running Heat and by Hearth; with TYPE=OS::Nova, those types only
sweep: install
	@test -n "$(HEARTH_ORIGINAL)" || { echo "set HEARTH_ORIGINAL to the address of a Heat that takes users' names as tokens and these options: $$($(BIN)/python -m tests.comparison.sweep --services)"; exit 1; }
	@$(BIN)/python -m tests.comparison.sweep $(HEARTH_ORIGINAL) $(if $(TYPE),--type $(TYPE))

# the attributes of each type, from the same Heat and from Hearth
attributes: install
	@test -n "$(HEARTH_ORIGINAL)" || { echo "set HEARTH_ORIGINAL as for make sweep"; exit 1; }
	@$(BIN)/python -m tests.comparison.attributes $(HEARTH_ORIGINAL) $(if $(TYPE),--type $(TYPE))

# heatclient's own functional tests, in the same environment as the plugin's
functional: install $(TEMPEST_STAMP)
	@$(BIN)/pytest tests/clients/test_functional.py

# the unmodified heat-tempest-plugin, in an environment of its own; make tempest REGEX=test_hooks: some of it
tempest: install $(TEMPEST_STAMP)
	@$(BIN)/python -m tests.tempest.run $(if $(REGEX),--regex '$(REGEX)',--json tests/tempest/result.json)

# the unmodified magnum-tempest-plugin, in the same environment
tempest-clusters: install $(TEMPEST_STAMP)
	@$(BIN)/python -m tests.tempest.run --suite clusters $(if $(REGEX),--regex '$(REGEX)',--json tests/tempest/clusters/result.json)

$(TEMPEST_STAMP): tests/tempest/requirements.txt
	@test -x $(TEMPEST_VENV)/bin/python || $(PYTHON) -m venv $(TEMPEST_VENV)
	@$(TEMPEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# a real Keystone and the embedded one under the same tests; an environment of its own
keystone: install $(KEYSTONE_STAMP)
	@$(BIN)/pytest tests/keystone

# the functions by which Horizon's dashboard asks for stacks; an environment of its own
dashboard: install $(DASHBOARD_STAMP)
	@$(BIN)/pytest tests/dashboard

# what `make test` skips where it is missing
peers: $(KEYSTONE_STAMP) $(DASHBOARD_STAMP) $(TEMPEST_STAMP) $(HEAT_AGENTS)

$(KEYSTONE_STAMP): tests/keystone/requirements.txt tests/keystone/prepare.py
	@test -x $(KEYSTONE_VENV)/bin/python || $(PYTHON) -m venv $(KEYSTONE_VENV)
	@$(KEYSTONE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r $<
	@rm -rf $(KEYSTONE_VENV)/prepared
	@$(KEYSTONE_VENV)/bin/python tests/keystone/prepare.py $(KEYSTONE_VENV)/prepared
	@touch $@

$(DASHBOARD_STAMP): tests/dashboard/requirements.txt
	@test -x $(DASHBOARD_VENV)/bin/python || $(PYTHON) -m venv $(DASHBOARD_VENV)
	@$(DASHBOARD_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r $<
	@touch $@

bench: install
	@$(BIN)/python -m benchmarks

# the pages of docs/ as a site with search, in site/; a broken link is an error
docs: install
	@$(BIN)/mkdocs build
	@echo "site/index.html is the first page; $(BIN)/mkdocs serve adds the search"

# CHANGELOG.md from changes/
changelog: install
	@$(BIN)/python -m changes.changelog

# everything that is published, in dist/: wheels, source archives, the Debian package, the image
packages: wheel deb container

container:
	@tool=$$(command -v podman || command -v docker) && test -n "$(BASE)" \
	&& $$tool build -f deploy/container/Containerfile --build-arg BASE=$(BASE) -t hearth:0.1.0 . \
	&& $$tool build -f $(CLOUD)/Containerfile --build-arg BASE=$(BASE) -t hearth-devcloud:0.1.0 $(CLOUD) \
	|| { test -n "$$tool" && test -n "$(BASE)" && exit 1; echo "no image: it needs podman or docker, and BASE=IMAGE@sha256:..."; }

# wheels, source archives, a lock file that installs it with its libraries, and a bill of materials:
# cd dist && pip install -r hearth-*.lock
wheel: $(RUN_STAMP)
	@$(BIN)/python -m deploy.wheel.build dist

# the locked packages against the records of OSV in a file, a folder or a zip archive; no network
advisories: $(RUN_STAMP)
	@test -n "$(FILE)" || { echo "FILE=… names a file, a folder or a zip archive with records of OSV"; exit 2; }
	@$(BIN)/python -m deploy.packages.advisories "$(FILE)"

# a package for this release of Debian or Ubuntu, in dist; needs debhelper and python3-venv
deb:
	@rm -rf build/deb && mkdir -p build/deb/hearth dist
	@cp -r src deploy requirements pyproject.toml README.md LICENSE deploy/debian build/deb/hearth
	@cd build/deb/hearth && dpkg-buildpackage -b -us -uc
	@cp build/deb/*.deb dist

clean:
	rm -rf site $(VENV) $(TEMPEST_VENV) $(KEYSTONE_VENV) $(DASHBOARD_VENV) .hearth .guests

# the pictures of terminals in the documentation, from what the commands really print
pictures: install
	@$(BIN)/python -m tests.clients.pictures
