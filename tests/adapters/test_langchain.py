"""The LangChain adapter, in its environment (`make langchain`)."""

import re

from support.adapters import ROOT, run_in_environment, run_tests


def test_tests_of_langchain_and_its_own_pass(tmp_path):
    printed = run_tests("langchain", tmp_path)
    [passed] = re.findall(r"(\d+) passed", printed)
    assert int(passed) > 50
    assert "skipped" not in printed


def test_imports_of_the_page_about_integrations_work():
    page = (ROOT / "docs" / "integrations.md").read_text("utf-8")
    [line] = re.findall(r"(?m)^from langchain_hubless import .*$", page)
    run_in_environment("langchain", "python", "-c", line)


def test_types_are_strict():
    run_in_environment("langchain", "python", "-m", "mypy", "--strict", "langchain_hubless")


def test_installs_with_what_it_declares():
    # the environment has only the packages that the adapter's own project file asks for
    run_in_environment("langchain", "python", "-m", "pip", "check")
