import pytest
from mutants.faults import FAULTS, ROOT


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_can_be_made_and_its_tests_are_there(fault):
    compile(fault.text(), str(fault.file), "exec")
    assert [each for each in (*fault.beside, *fault.elsewhere) if not (ROOT / "tests" / each).is_file()] == []


def test_there_are_a_hundred():
    assert len({(fault.file, fault.old, fault.new) for fault in FAULTS}) == 100
