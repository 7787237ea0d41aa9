import re
from pathlib import Path

from hubless.kernels import threads
from hubless_service.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()


def default(field):
    if field.is_required():
        return "required"
    return "processors" if field.default_factory else f"`{str(field.default).lower()}`"


def test_table_of_settings_is_the_one_in_the_code():
    documented = re.findall(r"(?m)^\| `(HUBLESS_[A-Z_]+)` \| (.+?) \| (.+) \|$", PAGE)
    real = [
        (f"HUBLESS_{name.upper()}", default(field), field.description) for name, field in Settings.model_fields.items()
    ]
    assert documented == real


def test_the_default_that_is_counted_is_the_processors_of_the_container(tmp_path, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: range(7))
    monkeypatch.setattr(threads, "_limit_at_start", lambda: 5)
    monkeypatch.delenv("HUBLESS_SEARCH_THREADS", raising=False)
    assert [name for name, field in Settings.model_fields.items() if field.default_factory] == ["search_threads"]
    assert Settings(catalog=tmp_path).search_threads == 5
