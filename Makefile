# The same few commands for people and for CI. `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=
JOBS   ?= 2
# the tests start hundreds of processes, and each would compile all that it imports
unexport PYTHONDONTWRITEBYTECODE
# idle threads of two runs at once would spin against each other
# in the order of their names: a file with many tests is not one that takes long
PYTEST := OMP_WAIT_POLICY=passive $(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder

# the distributions beside hubless, each in a folder of the name of its extra: with it all that is below knows of one
RINGS := databases encoders lab matching objects engines/milvus
ALL_RINGS := $(RINGS) engines/ray  # which needs a large package, so it is installed in .venv-extras alone
# with the folders beside that ship otherwise; their tests are in FOLDER/tests, those of the library and the service in tests/
OUTER := $(RINGS) clients docker docs
TESTS := tests $(OUTER:%=%/tests) engines/ray/tests
# all, those that are named, or those that differ from a commit or stand on what does
RINGS_TESTED ?= $(if $(BASE),$(shell .ci/touched.py $(BASE) | sed -n s/^rings=//p),$(OUTER))

OPENAPI := docs/openapi.json
ADAPTERS := langchain llama-index haystack mcp
# tests of other folders that have rows in the table of attacks
ATTACKS := tests/attack tests/faults/test_signals.py tests/faults/test_every_call.py tests/service/test_fuzzed.py \
	tests/service/test_through_any_worker.py tests/cli/test_backups.py

# kills at random moments, each also in a short form that runs with the other tests
CRASHES := tests/faults/test_crash.py tests/faults/test_every_call.py tests/faults/test_reindex_killed.py

NEW_ENOUGH := $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "hubless needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) --version); try make PYTHON=python3.11" >&2; exit 1; }

# they need large packages, so they have an environment of their own; `make test` skips them
EXTRAS := engines/ray/tests docker/tests/test_kubernetes.py docs/tests/test_bm25s.py docs/tests/test_notebook.py \
	docs/tests/test_site.py lab/tests/test_estimator.py tests/measures/test_umap.py tests/vectors/test_array_likes.py

define newline


endef

# what `make test` does not run, or not everywhere: its calls are checked at least
SELDOM = $(wildcard $(TESTS:%=%/support)) tests/mutants benchmarks $(wildcard docker/*.py) docs/.hooks \
	$(shell grep -rlE 'mark\.slow|importorskip|find_spec' $(TESTS) --include='test_*.py' --include=conftest.py)

.DEFAULT_GOAL := help
.PHONY: help setup demo test rings test-all attack crash simulate mutants lint bench bench-full docs notebook openapi typescript langchain llama-index haystack mcp extras mteb stores clouds milvus lock wheels distributions sbom audit pin-base clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

# Environments: folder, lock files, projects of this repository. Each prerequisite FOLDER/.ready makes its own, once.
# --no-compile: Python compiles what is imported; all of it would be 80 to 280 MB of bytecode
PIP := python -m pip install --quiet --disable-pip-version-check --no-compile
define ENVIRONMENT
$(1)/.ready: $(2:%=requirements/%.txt) $(3:%=%/pyproject.toml)
	@$$(NEW_ENOUGH)
	test -x $(1)/bin/python || $$(PYTHON) -m venv $(1)
	$(1)/bin/$$(PIP) --require-hashes $(2:%=-r requirements/%.txt)
	$(if $(3),$(1)/bin/$$(PIP) --no-deps --no-build-isolation $(3:%=-e %))
	@touch $$@
endef
$(eval $(call ENVIRONMENT,$(VENV),dev,. clients/python $(RINGS)))
$(eval $(call ENVIRONMENT,.venv-extras,dev extras,. clients/python $(ALL_RINGS)))
$(eval $(call ENVIRONMENT,.venv-stores,dev stores,. clients/python $(RINGS)))
$(eval $(call ENVIRONMENT,.venv-mteb,dev mteb,. clients/python $(RINGS)))
$(eval $(call ENVIRONMENT,.venv-demo,service build,. lab))
$(eval $(call ENVIRONMENT,.venv-lowest,lowest,. lab clients/python))
$(eval $(call ENVIRONMENT,.venv-generators,generators))
$(eval $(call ENVIRONMENT,.venv-milvus,milvus))
$(eval $(call ENVIRONMENT,.venv-audit,audit))
# what an adapter asks for must be enough
$(foreach name,$(ADAPTERS),$(eval $(call ENVIRONMENT,.venv-$(name),$(name),clients/python clients/$(name))))

setup: $(VENV)/.ready  ## a .venv with locked dependencies; nothing to do when nothing changed

# an environment of just the service and the lab: half a minute in place of several
demo: .venv-demo/.ready  ## search in plain English, raw beside corrected; ARGS=--once ends
	.venv-demo/bin/hubless demo $(ARGS)

test: setup  ## lint, types, import contracts, tests of library and service
	$(MAKE) --no-print-directory lint
	$(PYTEST) -m "not slow" $(ARGS)

rings: setup $(if $(filter clients,$(RINGS_TESTED)),typescript)  ## tests of the folders beside: RINGS_TESTED="lab docs" or BASE=main
	$(if $(strip $(RINGS_TESTED)),$(PYTEST) -m "not slow" $(RINGS_TESTED:%=%/tests) $(ARGS))

# examples are the same in each run; `make attack` draws others
test-all: setup typescript .venv-lowest/.ready $(ADAPTERS:%=.venv-%/.ready) .venv-generators/.ready .venv-milvus/.ready  ## all tests, the slow ones too
	$(MAKE) --no-print-directory lint
	$(PYTEST) --hypothesis-seed=0 $(TESTS) $(ARGS)
	$(MAKE) --no-print-directory extras
	$(MAKE) --no-print-directory mteb
	$(MAKE) --no-print-directory stores
	$(MAKE) --no-print-directory clouds

attack: setup  ## everything that strangers, disks, clocks and kills may do
	$(PYTEST) $(ATTACKS) $(ARGS)

crash: setup  ## kill servers and jobs hundreds of times, and look what is lost
	$(PYTEST) $(CRASHES) $(ARGS)

simulate: setup  ## 100,000 random histories of a catalog; ARGS="--count 1000"
	OMP_WAIT_POLICY=passive PYTHONPATH=tests $(BIN)/python -m support.simulate $(ARGS)

mutants: setup  ## a hundred faults that tests are to catch; ARGS=store takes a room
	OMP_WAIT_POLICY=passive PYTHONPATH=tests $(BIN)/python -m mutants $(ARGS)

lint: setup  ## ruff, mypy --strict, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	# a core for each
	$(BIN)/mypy & $(BIN)/mypy --config-file tests/mypy.ini $(SELDOM); seldom=$$?; wait $$! && exit $$seldom
	$(BIN)/lint-imports
	$(foreach ring,$(ALL_RINGS),PYTHONPATH=$(ring) $(BIN)/lint-imports --config $(ring)/pyproject.toml$(newline)	)

bench: .venv-extras/.ready  ## benchmarks, about 10 minutes: ratios within one run
	.venv-extras/bin/python -m benchmarks $(ARGS)

bench-full: .venv-extras/.ready  ## the same at the sizes that the goals are about, an hour
	.venv-extras/bin/python -m benchmarks --full $(ARGS)

docs: .venv-extras/.ready  ## the documentation site, in site/
	NO_MKDOCS_2_WARNING=1 .venv-extras/bin/mkdocs build --strict $(ARGS)

notebook: .venv-extras/.ready  ## run the notebook of the docs and store what it shows
	.venv-extras/bin/python docs/.hooks/run_notebook.py

openapi: setup  ## store the HTTP contract anew, in docs/openapi.json
	$(BIN)/python -m hubless_service.contract >$(OPENAPI).new
	mv $(OPENAPI).new $(OPENAPI)
	@test ! -d $(TYPESCRIPT)/node_modules || (cd $(TYPESCRIPT) && npm run --silent types)

langchain: setup .venv-langchain/.ready  ## test the LangChain adapter, in an environment of its own
	$(PYTEST) clients/tests/adapters/test_langchain.py $(ARGS)

llama-index: setup .venv-llama-index/.ready  ## test the LlamaIndex adapter, in an environment of its own
	$(PYTEST) clients/tests/adapters/test_llama_index.py $(ARGS)

haystack: setup .venv-haystack/.ready  ## test the Haystack adapter, in an environment of its own
	$(PYTEST) clients/tests/adapters/test_haystack.py $(ARGS)

mcp: setup .venv-mcp/.ready  ## test the server of MCP, in an environment of its own
	$(PYTEST) clients/tests/adapters/test_mcp.py $(ARGS)

extras: .venv-extras/.ready  ## test what needs large packages, in an environment that has them
	OMP_WAIT_POLICY=passive .venv-extras/bin/python -m pytest $(EXTRAS) $(ARGS)

mteb: .venv-mteb/.ready  ## test the index for mteb, which brings PyTorch
	HF_HUB_OFFLINE=1 OMP_WAIT_POLICY=passive .venv-mteb/bin/python -m pytest lab/tests/test_mteb.py $(ARGS)

stores: .venv-stores/.ready  ## test corrections in Chroma, LanceDB and Redis: large packages
	OMP_WAIT_POLICY=passive .venv-stores/bin/python -m pytest databases/tests $(ARGS)

clouds: setup .venv-clouds/.ready  ## test az:// and gs:// against stand-ins; Azurite needs Node 20
	$(PYTEST) objects/tests/test_clouds.py $(ARGS)

# Azurite has no package for Python
.venv-clouds/.ready:
	@mkdir -p .venv-clouds
	@if node --eval 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null && command -v npm >/dev/null; then \
		npm install --silent --no-audit --no-fund --no-package-lock --no-save --ignore-scripts --prefix .venv-clouds azurite@3.35.0; \
	else echo "no Node 20 or newer with npm: az:// is not tested" >&2; fi
	@touch $@

milvus: setup .venv-milvus/.ready  ## test the engine Milvus against a standalone server
	$(PYTEST) -m slow engines/milvus/tests/standalone $(ARGS)

# Node's own tools where Node 20 or newer is there; without it, make rings skips the tests of the TypeScript client
TYPESCRIPT := clients/typescript
typescript:  ## what the TypeScript client is built with; needs Node 20
	@if node --eval 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null && command -v npm >/dev/null; then \
		$(MAKE) --no-print-directory $(TYPESCRIPT)/node_modules/.ready; \
	else echo "no Node 20 or newer with npm: the TypeScript client is not tested" >&2; fi

$(TYPESCRIPT)/node_modules/.ready: $(TYPESCRIPT)/package.json
	cd $(TYPESCRIPT) && npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts
	@touch $@

# What an image has, and what it can have besides. They are locked together, so that each goes with each.
IMAGE := pyproject.toml --extra serve databases/pyproject.toml encoders/pyproject.toml lab/pyproject.toml
IMAGE_EXTRAS := milvus object-storage otel pictures
# Versions that are locked stay where they can; `make lock ARGS=--upgrade` takes the newest. Run it whole:
# what shares an environment with dev.txt is resolved together with it, in together.txt.
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header $(ARGS) \
	--no-emit-package hubless $(foreach ring,$(ALL_RINGS),--no-emit-package hubless-$(notdir $(ring)))
EXTRA = $(addprefix --extra ,$(1))
DEV := pyproject.toml $(call EXTRA,serve static onnx $(IMAGE_EXTRAS) $(notdir $(RINGS))) --group dev
TOGETHER := -c requirements/together.txt
IN_SERVICE = $$(awk -F== 'NF > 1 {print "--no-emit-package", $$1}' requirements/service.txt)
lock:  ## lock the dependencies anew; ARGS=--upgrade takes the newest
	cat requirements/dev.txt requirements/extras.txt requirements/mteb.txt requirements/stores.txt >requirements/together.txt
	$(LOCK) $(DEV) --group extras --group mteb --group stores -o requirements/together.txt
	$(LOCK) $(TOGETHER) $(DEV) -o requirements/dev.txt
	$(LOCK) $(TOGETHER) --group extras -o requirements/extras.txt
	$(LOCK) $(TOGETHER) --group mteb -o requirements/mteb.txt
	$(LOCK) $(TOGETHER) --group stores -o requirements/stores.txt
	$(LOCK) $(TOGETHER) --group build -o requirements/build.txt
	$(LOCK) $(TOGETHER) $(IMAGE) -o requirements/service.txt
	$(LOCK) $(TOGETHER) $(IMAGE) $(call EXTRA,$(IMAGE_EXTRAS)) -o requirements/image.txt
	$(foreach extra,$(IMAGE_EXTRAS),$(LOCK) -c requirements/image.txt pyproject.toml --extra $(extra) \
		$(IN_SERVICE) -o requirements/image-$(extra).txt$(newline))
	rm requirements/image.txt requirements/together.txt requirements/lowest.txt
	$(LOCK) --resolution lowest-direct pyproject.toml --extra serve lab/pyproject.toml clients/python/pyproject.toml \
		--group build -o requirements/lowest.txt
	$(foreach group,audit node generators milvus,$(LOCK) --group $(group) -o requirements/$(group).txt$(newline))
	$(foreach name,$(ADAPTERS),$(LOCK) clients/$(name)/pyproject.toml --group clients/$(name)/pyproject.toml:test \
		--no-emit-package hubless-client -o requirements/$(name).txt$(newline))

wheels: setup  ## wheels of all distributions, in dist/
	rm -f dist/*.whl
	$(foreach each,. $(ALL_RINGS) clients/python,(cd $(each) && $(CURDIR)/$(BIN)/python -m hatchling build -t wheel -d $(CURDIR)/dist)$(newline)	)

distributions: setup  ## wheels and sdists of all that is published, in dist/
	rm -rf dist
	$(foreach each,. $(ALL_RINGS) clients/python $(ADAPTERS:%=clients/%),(cd $(each) && $(CURDIR)/$(BIN)/python -m hatchling build -d $(CURDIR)/dist)$(newline)	)

sbom: .venv-audit/.ready  ## what the image installs, as CycloneDX, in dist/sbom.cdx.json
	mkdir -p dist
	.venv-audit/bin/cyclonedx-py requirements --output-reproducible --of JSON -o dist/sbom.cdx.json requirements/service.txt

audit: .venv-audit/.ready  ## known vulnerabilities of what the image installs; asks PyPI
	.venv-audit/bin/pip-audit --disable-pip --require-hashes --strict -r requirements/service.txt

pin-base:  ## pin the Dockerfile's base by digest; needs docker, the network
	docker/pin-base.sh

clean:  ## remove what the other commands made
	rm -rf $(VENV) .venv-* site build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis \
		$(TYPESCRIPT)/node_modules
