import pytest
from support import small

import hubless
from hubless import errors
from hubless.store.addressed import at_address, managed


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
@pytest.mark.parametrize(
    "work",
    [
        lambda address: small.build(address),
        lambda address: hubless.open(address, "photos"),
        managed,
        at_address,
    ],
)
def test_address_without_its_package_says_which_line_brings_it(monkeypatch, tmp_path, scheme, work):
    monkeypatch.setattr(errors, "entry_points", lambda **_: ())
    monkeypatch.setenv("HUBLESS_CACHE", str(tmp_path / "copies"))
    with pytest.raises(hubless.HublessError, match=rf'^{scheme}://… is of hubless-objects.*"hubless\[objects\]"'):
        work(f"{scheme}://bucket/catalog")
    assert not list(tmp_path.iterdir())
