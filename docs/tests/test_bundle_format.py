import re
from pathlib import Path

from hubless.encoders import ENCODER_FILE, WORDS_FILE
from hubless.store import bundle

PAGE = (Path(__file__).parents[2] / "docs" / "bundle-format.md").read_text()


def test_every_field_of_the_manifest_is_documented_and_no_other():
    table = re.search(r"(?ms)^## manifest.json$(.*?)^## ", PAGE).group(1)
    first_cells = re.findall(r"(?m)^\| (`.+?) \|", table)
    documented = {field for cell in first_cells for field in re.findall(r"`(\w+)`", cell)}
    assert documented == {*bundle.Manifest.model_fields, "manifest_sha256"}


def test_every_measurement_and_provenance_is_documented():
    words = set(re.findall(r"`(\w+)`", PAGE))
    for record in (bundle.Measured, bundle.Hubness, bundle.Provenance, bundle.FileRecord):
        assert set(record.model_fields) - {"skewness"} <= words
    assert "skewness of N_10" in PAGE


def test_every_file_of_a_bundle_is_documented():
    files = {
        value for name, value in vars(bundle).items() if name.isupper() and isinstance(value, str) and "." in value
    }
    assert bundle.MANIFEST in files
    tree = re.search(r"(?s)```text\n(.*?)```", PAGE).group(1)
    documented = {*files, ENCODER_FILE, WORDS_FILE}
    assert documented <= set(re.findall(r"[\w-]+\.\w+", tree))
    assert documented <= set(re.findall(r"[\w-]+\.\w+", PAGE.replace(tree, "")))
