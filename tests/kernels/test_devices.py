"""Offsets by way of torch. It is no locked dependency: without it only the refusals are tested."""

import sys

import numpy as np
import pytest
from support.problems import source, with_hubs

from hubless import CORRECTIONS, build
from hubless.errors import InputError
from hubless.kernels import devices, reductions
from hubless.kernels.devices import on_device

PROBLEM = with_hubs(targets=70, bank=150, target_bank=60)


@pytest.mark.parametrize("name", ["gpu", "torch", "", "tpu:0"])
def test_unknown_device_is_refused_naming_the_known_ones(name):
    with pytest.raises(InputError, match=rf"device: expected cpu, cuda, cuda:NUMBER, .* got {name}"), on_device(name):
        pass


def test_device_without_torch_is_refused_saying_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"device: expected cpu, or torch: pip install 'hubless\[torch\]'"):
        build(tmp_path, "name", PROBLEM.targets, PROBLEM.bank, device="cuda")
    assert not list(tmp_path.iterdir())


class TestWithTorch:
    @pytest.fixture(autouse=True)
    def _small_blocks(self, monkeypatch):
        pytest.importorskip("torch")
        monkeypatch.setattr(devices, "DEVICE_ROWS", 32)

    @pytest.mark.parametrize("name", ["cuda:99", "torch:no-such-device", "torch:meta:x"])
    def test_device_that_is_not_there_is_refused(self, name):
        with pytest.raises(InputError, match="device: expected one that torch finds on this machine"), on_device(name):
            pass

    @pytest.mark.parametrize("name", ["auto", "nnn", "csls", "is", "sn", "dbsn", "dual_is", "dis"])
    def test_offsets_are_those_of_numpy(self, name):
        parameters = {"k": 100} if name == "nnn" else {}
        given = PROBLEM.bank, PROBLEM.targets, PROBLEM.target_bank
        expected = CORRECTIONS[name](**parameters).fit(*given).offsets(PROBLEM.targets)
        with on_device("torch:cpu"):
            found = CORRECTIONS[name](**parameters).fit(*given).offsets(PROBLEM.targets)
        assert devices.current() is None
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)

    @pytest.mark.parametrize("temperature", [10.0, 0.05, 0.003])
    def test_log_sum_exp_is_that_of_numpy_with_any_potentials(self, temperature):
        potentials = np.linspace(-200, 200, 150)
        bank, targets = source(PROBLEM.bank), source(PROBLEM.targets)
        expected = reductions.log_sum_exp(bank, targets, temperature, potentials)
        told = []
        with on_device("torch:cpu"):
            found = reductions.log_sum_exp(bank, targets, temperature, potentials, told.append)
        np.testing.assert_allclose(temperature * found, temperature * expected, atol=1e-5, rtol=1e-6)
        assert sum(told) == 70
