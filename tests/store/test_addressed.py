import pytest
from support import small

import hubless
from hubless import errors
from hubless.store.addressed import at_address, managed


@pytest.mark.parametrize("address", ["s4://bucket/catalog", "S3://bucket/catalog", "http://host/catalog"])
def test_address_of_no_known_scheme_is_no_folder(monkeypatch, tmp_path, address):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        errors.InputError, match=f"catalog: expected a folder, or .* s3://, gs://, az://, got {address}"
    ):
        small.build(address)
    assert not list(tmp_path.iterdir())


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
    with pytest.raises(hubless.HublessError, match=rf"^{scheme}://… is of hubless-objects.*\[objects\]"):
        work(f"{scheme}://bucket/catalog")
    assert not list(tmp_path.iterdir())
