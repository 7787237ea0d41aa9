"""Corrections that other packages bring: a real wheel, built and unpacked, whose entry points are found."""

import importlib
import logging
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support import wheels
from support.problems import with_hubs

import hubless
from hubless.corrections import CORRECTIONS, correction, installed
from hubless.errors import InputError, UnsupportedBundle

PROBLEM = with_hubs()
PROJECT = """
    [build-system]
    requires = ["hatchling"]
    build-backend = "hatchling.build"

    [project]
    name = "hubless-median"
    version = "1.5"

    [project.entry-points."hubless.corrections"]
    median = "hubless_median:Median"
    above_median = "hubless_median:AboveMedian"
    csls = "hubless_median:Median"
    broken = "hubless_median.broken:Broken"
    shapeless = "hubless_median:shapeless"
"""
PAGE = Path(__file__).parents[2] / "docs" / "methods.md"
MORE = """
    from hubless.corrections.query_time import StoredFields


    @dataclass(frozen=True)
    class LessMedian(StoredFields):
        medians: np.ndarray

        def scores(self, query, candidates):
            return candidates.similarities - self.medians[candidates.rows]


    @dataclass(frozen=True, repr=False)
    class FittedAbove(BankKept):
        def query_time(self, targets, advance=lambda rows: None):
            return LessMedian(np.median(in_memory(targets_beside(self.bank, targets)) @ in_memory(self.bank).T, axis=1))


    @dataclass(frozen=True)
    class AboveMedian:
        fitted = FittedAbove
        live = LessMedian

        def fit(self, query_bank, targets, target_bank=None):
            return FittedAbove(check_banks(query_bank, targets, target_bank, 1, "for a median")[0])


    shapeless = 3
"""
TESTS = """
    import pytest
    from hubless.corrections.testing import CorrectionChecks
    from hubless_median import AboveMedian, FittedMedian, Median


    class TestMedian(CorrectionChecks):
        correction = Median


    class TestAboveMedian(CorrectionChecks):
        correction = AboveMedian
"""


def module():
    """The class of the page, and one that rescores."""
    own = PAGE.read_text("utf-8").partition("## Your own")[2]
    return re.search(r"```python\n(.*?)```", own, re.DOTALL)[1] + textwrap.dedent(MORE)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Folder of an installed package, as `pip install --target` leaves it."""
    project, folder = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("installed")
    (project / "hubless_median").mkdir()
    for name, text in (
        ("pyproject.toml", PROJECT),
        ("hubless_median/__init__.py", module()),
        ("hubless_median/broken.py", "import a_module_that_is_not_there"),
    ):
        (project / name).write_text(textwrap.dedent(text))
    return wheels.build(project, folder).locate_file(".")


@pytest.fixture
def without(monkeypatch):
    """Forget what is installed, before and after."""

    def forget():
        for module in [name for name in sys.modules if name.startswith("hubless_median")]:
            del sys.modules[module]
        importlib.invalidate_caches()
        installed.entries_by_name.cache_clear()
        installed.load.cache_clear()

    forget()
    yield forget
    monkeypatch.undo()
    forget()


@pytest.fixture
def package(wheel, monkeypatch, without):
    monkeypatch.syspath_prepend(str(wheel))
    without()


def uninstall(wheel, monkeypatch, without):
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(wheel)])
    without()


def build(catalog, name="shop", **options):
    return hubless.build(catalog, name, PROBLEM.targets, PROBLEM.bank, index="flat", progress=False, **options)


def test_installed_correction_is_built_served_and_written_as_ours(package, tmp_path, run):
    for name in ("targets", "bank", "queries"):
        np.save(tmp_path / f"{name}.npy", getattr(PROBLEM, name))
    named = ["--targets", tmp_path / "targets.npy", "--query-bank", tmp_path / "bank.npy"]
    where = ["--catalog", tmp_path / "c", "--collection", "shop", "--metric", "dot"]
    built = run("build", *where, *named, "--correction", "median", "--set", "weight=1", "--json")
    assert built.code == 0, built.err
    assert built.json["provenance"]["versions"]["hubless-median"] == "1.5"
    opened = hubless.open(tmp_path / "c", "shop")
    medians = np.median(PROBLEM.bank @ PROBLEM.targets.T, axis=0)
    np.testing.assert_allclose(opened.offsets, medians - medians.mean(), atol=1e-6)
    index = hubless.Index(correction="median", parameters={"weight": 1}, metric="dot")
    index.fit(PROBLEM.bank, PROBLEM.targets[:70], progress=False).add(PROBLEM.targets[70:], ids=list(range(70, 80)))
    added = index.query(PROBLEM.queries, 80)
    np.testing.assert_array_equal(added.rows[:, 0], opened.query(PROBLEM.queries, 1).rows[:, 0])


def test_installed_correction_is_fitted_by_groups(package, tmp_path):
    groups = {"tenant": [["a", "b"][row % 2] for row in range(80)]}
    bank = {"tenant": [["a", "b"][row % 2] for row in range(150)]}
    index = hubless.Index(correction="median", metric="dot")
    made = index.fit(in_table(PROBLEM.bank, bank), PROBLEM.targets, payload=pa.table(groups), fit_by="tenant")
    made.save(tmp_path, "shop")
    again = hubless.open(tmp_path, "shop").correction().fitted
    assert sorted(again.fits) == ["a", "b"]


def in_table(vectors, columns):
    return pa.table({"vector": pa.array(vectors.tolist(), pa.list_(pa.float32(), vectors.shape[1])), **columns})


def test_parameters_are_refused_as_those_of_ours(package):
    with pytest.raises(InputError, match=r"^parameter of median: expected one of weight, got colour"):
        correction("median", {"colour": 1})
    with pytest.raises(InputError, match=r"^weight: expected a number"):
        correction("median", {"weight": "heavy"})


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("broken", "ModuleNotFoundError: No module named 'a_module_that_is_not_there'"),
        ("shapeless", "InputError: correction: expected a class that is a frozen dataclass, got 3"),
    ],
)
def test_package_that_cannot_be_used_is_named_and_breaks_no_other(package, tmp_path, name, why):
    with pytest.raises(InputError) as refused:
        build(tmp_path, correction=name)
    assert str(refused.value).startswith(f"correction: expected package hubless-median 1.5 to bring '{name}'")
    assert why in str(refused.value)
    assert build(tmp_path, correction="csls").correction.name == "csls"
    assert build(tmp_path, correction="median").correction.name == "median"


def test_name_of_ours_is_not_taken_and_the_log_says_so(package, caplog):
    installed.entries_by_name.cache_clear()
    with caplog.at_level(logging.WARNING, "hubless.corrections"):
        method = CORRECTIONS["csls"]
    assert method.__module__.startswith("hubless.")
    assert "correction 'csls' of package hubless-median 1.5 is left out: hubless has one of this name" in caplog.text


def test_two_packages_of_one_name_are_both_named(package, wheel, tmp_path, monkeypatch, without):
    info = tmp_path / "other-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text("[hubless.corrections]\nmedian = somewhere:Else\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    without()
    with pytest.raises(InputError, match=r"one package that brings 'median', got other 2.0 and hubless-median 1.5"):
        correction("median")


def test_folded_version_answers_without_its_package_and_refuses_writes(
    package, wheel, tmp_path, monkeypatch, without, caplog
):
    build(tmp_path, correction="median")
    before = hubless.open(tmp_path, "shop").query(PROBLEM.queries, 5)
    uninstall(wheel, monkeypatch, without)
    with caplog.at_level(logging.WARNING, "hubless.corrections"):
        opened = hubless.open(tmp_path, "shop")
    assert "no installed package brings correction 'median' (it came with hubless-median 1.5)" in caplog.text
    after = opened.query(PROBLEM.queries, 5)
    np.testing.assert_array_equal(after.rows, before.rows)
    np.testing.assert_array_equal(after.scores, before.scores)
    with pytest.raises(UnsupportedBundle, match=r"hubless-median 1\.5.*gives no offset to a target that is written"):
        opened.add(PROBLEM.targets[:1], ids=[1000])
    with pytest.raises(InputError, match=r"^correction: expected one of auto, .*, got median"):
        hubless.refit(tmp_path, "shop", PROBLEM.bank)
    assert hubless.refit(tmp_path, "shop", PROBLEM.bank, correction="csls").correction.name == "csls"


def test_rescored_version_without_its_package_is_not_opened(package, wheel, tmp_path, monkeypatch, without):
    build(tmp_path, correction="above_median", metric="dot")
    assert hubless.open(tmp_path, "shop").query(PROBLEM.queries, 5).rows.shape == (20, 5)
    uninstall(wheel, monkeypatch, without)
    with pytest.raises(UnsupportedBundle, match=r"hubless-median 1\.5\), without which the version cannot answer"):
        hubless.open(tmp_path, "shop")


def checked(wheel, folder, text, only):
    """Run pytest as an author does, of some of the checks."""
    (folder / "test_mine.py").write_text(textwrap.dedent(text))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", only, "test_mine.py"]
    return subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(wheel), "PATH": ""}, capture_output=True, text=True, check=False
    )


def test_author_checks_a_class_with_pytest_and_faults_are_found(wheel, tmp_path):
    faults = """
        import numpy as np
        from dataclasses import dataclass


        class Leaning(FittedMedian):
            def offsets(self, targets, advance=lambda rows: None):
                found = super().offsets(targets)
                return found - found.mean()


        @dataclass(frozen=True)
        class Centred(Median):
            fitted = Leaning

            def fit(self, *inputs):
                return Leaning(super().fit(*inputs).bank, self.weight)


        class TestCentred(CorrectionChecks):
            correction = Centred


        @dataclass(frozen=True)
        class Unchecked(Median):
            def __post_init__(self):
                pass


        class TestUnchecked(CorrectionChecks):
            correction = Unchecked
    """
    failed = checked(wheel, tmp_path, textwrap.dedent(TESTS) + textwrap.dedent(faults), "Median or alone or wrong")
    assert failed.returncode == 1
    assert "TestCentred::test_offset_of_a_row_alone_is_its_offset_in_the_batch" in failed.stdout
    assert "TestUnchecked::test_wrong_parameters_are_refused_by_name" in failed.stdout
    assert "TestMedian::" not in failed.stdout
