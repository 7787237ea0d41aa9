# The same few commands for people and for CI. `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
ARGS   ?=
JOBS   ?= 2
# idle threads of two runs at once would spin against each other
PYTEST := OMP_WAIT_POLICY=passive $(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile

OPENAPI := docs/openapi.json
# Adapters have environments of their own: what they ask for must be enough
ADAPTERS := langchain llama-index haystack mcp
# tests of other folders that have rows in the table of attacks
ATTACKS := tests/attack tests/faults/test_signals.py tests/faults/test_every_call.py tests/service/test_fuzzed.py

# kills at random moments, each also in a short form that runs with the other tests
CRASHES := tests/faults/test_crash.py tests/faults/test_every_call.py tests/faults/test_reindex_killed.py

NEW_ENOUGH := $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "hubless needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) --version); try make PYTHON=python3.11" >&2; exit 1; }

# they need large packages, so they have an environment of their own; `make test` skips them
EXTRAS := tests/builder/test_ray.py tests/docker/test_kubernetes.py tests/docs/test_notebook.py tests/docs/test_site.py \
	tests/measures/test_umap.py tests/vectors/test_array_likes.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all attack crash simulate lint bench docs notebook openapi typescript langchain llama-index haystack mcp extras stores clouds milvus lock sbom audit pin-base clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

# --no-compile: Python compiles what is imported; all of it would be 80 to 280 MB of bytecode
setup: $(STAMP)  ## a .venv with locked dependencies; nothing to do when nothing changed

$(STAMP): requirements/dev.txt pyproject.toml clients/python/pyproject.toml engines/milvus/pyproject.toml
	@$(NEW_ENOUGH)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e clients/python -e engines/milvus
	@touch $@

# an environment of just what a plain install brings: half a minute in place of several
demo: .venv-demo/.ready  ## search Python's standard library in plain English, raw beside corrected (ARGS=--once ends by itself)
	.venv-demo/bin/hubless demo $(ARGS)

.venv-demo/.ready: requirements/service.txt requirements/build.txt pyproject.toml
	@$(NEW_ENOUGH)
	test -x .venv-demo/bin/python || $(PYTHON) -m venv .venv-demo
	.venv-demo/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes \
		-r requirements/service.txt -r requirements/build.txt
	.venv-demo/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test: setup typescript .venv-langchain/.ready  ## everything that CI runs: lint, types, import contracts, tests
	$(MAKE) --no-print-directory lint
	$(PYTEST) -m "not slow" $(ARGS)

test-all: setup typescript $(ADAPTERS:%=.venv-%/.ready) .venv-generators/.ready .venv-milvus/.ready  ## test, and the slow checks too
	$(MAKE) --no-print-directory lint
	$(PYTEST) $(ARGS)
	$(MAKE) --no-print-directory extras
	$(MAKE) --no-print-directory stores
	$(MAKE) --no-print-directory clouds

attack: setup  ## everything that strangers, disks, clocks and kills may do
	$(PYTEST) $(ATTACKS) $(ARGS)

crash: setup  ## kill servers and jobs with -9, hundreds of times, and look whether anything is lost
	$(PYTEST) $(CRASHES) $(ARGS)

simulate: setup  ## random histories of a catalog in one process, 100,000 of them (ARGS="--count 1000")
	OMP_WAIT_POLICY=passive PYTHONPATH=tests $(BIN)/python -m support.simulate $(ARGS)

lint: setup  ## ruff, mypy --strict, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/lint-imports --config engines/milvus/pyproject.toml

bench: .venv-extras/.ready  ## benchmarks: ratios against something measured in the same run, about 10 minutes
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
	$(PYTEST) tests/adapters/test_langchain.py $(ARGS)

llama-index: setup .venv-llama-index/.ready  ## test the LlamaIndex adapter, in an environment of its own
	$(PYTEST) tests/adapters/test_llama_index.py $(ARGS)

haystack: setup .venv-haystack/.ready  ## test the Haystack adapter, in an environment of its own
	$(PYTEST) tests/adapters/test_haystack.py $(ARGS)

mcp: setup .venv-mcp/.ready  ## test the server of the Model Context Protocol, in an environment of its own
	$(PYTEST) tests/adapters/test_mcp.py $(ARGS)

extras: .venv-extras/.ready  ## test what needs large packages, such as Ray and UMAP, in an environment that has them
	OMP_WAIT_POLICY=passive .venv-extras/bin/python -m pytest $(EXTRAS) $(ARGS)

stores: .venv-stores/.ready  ## test corrections in Chroma and LanceDB too, whose clients are large
	OMP_WAIT_POLICY=passive .venv-stores/bin/python -m pytest tests/databases $(ARGS)

.venv-extras/.ready .venv-stores/.ready: .venv-%/.ready: requirements/dev.txt requirements/%.txt pyproject.toml clients/python/pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements/dev.txt -r requirements/$*.txt
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		-e . -e clients/python
	@touch $@

clouds: setup .venv-clouds/.ready  ## test az:// and gs:// against stand-ins; Azurite needs Node 20
	$(PYTEST) tests/store/remote/test_clouds.py $(ARGS)

# Azurite has no package for Python
.venv-clouds/.ready:
	@mkdir -p .venv-clouds
	@if node --eval 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null && command -v npm >/dev/null; then \
		npm install --silent --no-audit --no-fund --no-package-lock --no-save --ignore-scripts --prefix .venv-clouds azurite@3.35.0; \
	else echo "no Node 20 or newer with npm: az:// is not tested" >&2; fi
	@touch $@

.venv-%/.ready: requirements/%.txt clients/%/pyproject.toml clients/python/pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/$*.txt
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		-e clients/python -e clients/$*
	@touch $@

.venv-generators/.ready .venv-milvus/.ready: .venv-%/.ready: requirements/%.txt
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

milvus: setup .venv-milvus/.ready  ## test the engine Milvus against a real standalone server, of PyPI's milvus
	$(PYTEST) -m slow tests/engines/standalone $(ARGS)

# Node's own tools where Node 20 or newer is there; without it, make test skips the tests of the TypeScript client
TYPESCRIPT := clients/typescript
typescript:  ## what the TypeScript client is built and tested with, if Node 20 or newer is there
	@if node --eval 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null && command -v npm >/dev/null; then \
		$(MAKE) --no-print-directory $(TYPESCRIPT)/node_modules/.ready; \
	else echo "no Node 20 or newer with npm: the TypeScript client is not tested" >&2; fi

$(TYPESCRIPT)/node_modules/.ready: $(TYPESCRIPT)/package.json
	cd $(TYPESCRIPT) && npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts
	@touch $@

# What an image can have besides. They are locked together, so that each goes with each.
IMAGE_EXTRAS := object-storage otel
IMAGE_ENGINES := milvus
lock:  ## lock the dependencies anew (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--upgrade pyproject.toml --extra lab --extra object-storage --extra onnx --extra otel --extra static --group dev \
		-o requirements/dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		-c requirements/dev.txt --group extras -o requirements/extras.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		-c requirements/dev.txt pyproject.toml -o requirements/service.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		-c requirements/dev.txt pyproject.toml $(IMAGE_EXTRAS:%=--extra %) $(IMAGE_ENGINES:%=engines/%/pyproject.toml) \
		--no-emit-package hubless -o requirements/image.txt
	for extra in $(IMAGE_EXTRAS); do \
		uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
			-c requirements/image.txt pyproject.toml --extra $$extra \
			$$(sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package \1/p' requirements/service.txt) \
			-o requirements/image-$$extra.txt || exit; \
	done
	for engine in $(IMAGE_ENGINES); do \
		uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
			-c requirements/image.txt engines/$$engine/pyproject.toml --no-emit-package hubless \
			$$(sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package \1/p' requirements/service.txt) \
			-o requirements/image-$$engine.txt || exit; \
	done
	rm requirements/image.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		-c requirements/dev.txt --group build -o requirements/build.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		-c requirements/dev.txt --group audit -o requirements/audit.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--group node -o requirements/node.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		-c requirements/dev.txt --group stores -o requirements/stores.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--group generators -o requirements/generators.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--group milvus -o requirements/milvus.txt
	for name in $(ADAPTERS); do \
		uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
			clients/$$name/pyproject.toml --group clients/$$name/pyproject.toml:test \
			--no-emit-package hubless-client -o requirements/$$name.txt || exit; \
	done

AUDIT := .venv-audit
$(AUDIT)/.ready: requirements/audit.txt
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/audit.txt
	@touch $@

sbom: $(AUDIT)/.ready  ## what the image installs, as CycloneDX, in dist/sbom.cdx.json
	mkdir -p dist
	$(AUDIT)/bin/cyclonedx-py requirements --output-reproducible --of JSON -o dist/sbom.cdx.json requirements/service.txt

audit: $(AUDIT)/.ready  ## known vulnerabilities of what the image installs; needs the network (PyPI)
	$(AUDIT)/bin/pip-audit --disable-pip --require-hashes --strict -r requirements/service.txt

pin-base:  ## pin the base image of the Dockerfile by its digest; needs docker and the network
	docker/pin-base.sh

clean:  ## remove what the other commands made
	rm -rf $(VENV) .venv-demo $(AUDIT) $(ADAPTERS:%=.venv-%) .venv-extras .venv-stores .venv-generators .venv-milvus .venv-clouds site build dist .mypy_cache .ruff_cache .pytest_cache
