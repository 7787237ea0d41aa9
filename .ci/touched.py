#!/usr/bin/env python3
"""What has to run besides `make test` for the files that changed since a commit: `.ci/touched.py COMMIT`.

Prints `targets=[…]`, of the Makefile, and `node=[…]`, versions under which the TypeScript client is tested, both JSON;
and `rings=…`, as `make rings` takes them. An unknown commit stands for a change of everything.
"""

import json
import subprocess
import sys

ADAPTERS = ("langchain", "llama-index", "haystack", "mcp")
PAGES = (
    *("docs/", "lab/docs/", "databases/docs/", "encoders/docs/", "matching/docs/", "objects/docs/"),
    *("engines/milvus/docs/", "engines/ray/docs/", "clients/docs/", "mkdocs.yml"),
)
ENVIRONMENTS = ("Makefile", "pyproject.toml", "requirements/dev.txt")
TOUCHES = {
    "docs": (*PAGES, *ENVIRONMENTS),
    "extras": (
        *PAGES,
        *("deploy/", "requirements/extras.txt", *ENVIRONMENTS),
        *("engines/ray/", "indexer/hubless/builder/executors.py"),
        *("indexer/hubless/measures/projection.py", "indexer/hubless/vectors/"),
        *("docker/tests/test_kubernetes.py", "tests/measures/test_umap.py", "tests/vectors/"),
        *("lab/hubless_lab/estimator.py", "lab/tests/test_estimator.py"),
    ),
    "milvus": ("engines/milvus/", "indexer/hubless/search/engines/", "requirements/milvus.txt"),
    "stores": ("databases/", "indexer/hubless/jobs/databases.py", "requirements/stores.txt", *ENVIRONMENTS),
    "mteb": ("lab/hubless_lab/mteb_index.py", "lab/tests/test_mteb.py", "benchmarks/others/", "requirements/mteb.txt"),
    "clouds": ("objects/", "indexer/hubless/store/addressed.py", "Makefile"),
    **{
        name: (f"clients/{name}/", "clients/python/", "clients/tests/adapters/", f"requirements/{name}.txt", "Makefile")
        for name in ADAPTERS
    },
}
"""Targets of the Makefile, and the files and folders that each is about."""
INNER = ("indexer/", "service/", "tests/support/", *ENVIRONMENTS)
"""What all rings stand on."""
BESIDE = ("databases/", "encoders/", "engines/", "lab/", "matching/", "objects/")
RINGS = {
    "databases": ("databases/",),
    "encoders": ("encoders/",),
    "lab": ("lab/",),
    "matching": ("matching/",),
    "objects": ("objects/",),
    "engines/milvus": ("engines/milvus/", "tests/service/"),
    "clients": ("clients/", "console/", "docs/openapi.json"),
    "docker": ("docker/", "deploy/", "Dockerfile", "docker-compose.yml", "docs/docker.md", "requirements/", *BESIDE),
    "docs": ("docs/", "README.md", "CONTRIBUTING.md", "mkdocs.yml", "benchmarks/", "clients/", *BESIDE),
}
"""Folders whose tests `make rings` runs, and what besides the inner rings these are about."""
TYPESCRIPT = ("clients/typescript/", "docs/openapi.json")
NODES = ("20", "22", "24")


def changed_since(commit: str) -> list[str]:
    """Return the files that differ from those of a commit."""
    command = ["git", "diff", "--name-only", commit, "--"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    return told.stdout.splitlines() if told.returncode == 0 else [*sum(TOUCHES.values(), INNER), *TYPESCRIPT]


def main(commit: str) -> None:
    """Print what has to run."""
    files = changed_since(commit)

    def touched(places: tuple[str, ...]) -> bool:
        return any(file.startswith(places) for file in files)

    print(f"targets={json.dumps([target for target, places in TOUCHES.items() if touched(places)])}")
    print(f"node={json.dumps(NODES if touched(TYPESCRIPT) else [])}")
    print(f"rings={' '.join(ring for ring, places in RINGS.items() if touched((*INNER, *places)))}")


if __name__ == "__main__":
    main(sys.argv[1])
