import pytest
from hypothesis import given, strategies as st

from hubless.encoders import tokenise


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Read a LINE, please.", ["read", "a", "line", "please"]),
        ("read_line", ["read", "line"]),
        ("__init__", ["init"]),
        ("readLine", ["read", "line"]),
        ("HTTPServer", ["http", "server"]),
        ("parseHTTPResponse2", ["parse", "http", "response2"]),
        ("sha256Digest", ["sha256", "digest"]),
        ("MAX_BYTES = 1_000", ["max", "bytes", "1", "000"]),
        ("naïve Straße übergröße", ["naïve", "straße", "übergröße"]),
        ("ein_Übermaß", ["ein", "übermaß"]),
        ("", []),
        (" .,;()_ \n", []),
    ],
)
def test_identifiers_are_split_and_words_are_lower_case(text, words):
    assert tokenise(text) == words


@given(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=1, max_size=6))
def test_all_ways_to_write_an_identifier_yield_the_same_words(words):
    spellings = ["_".join(words), "".join(map(str.title, words)), "_".join(words).upper(), " ".join(words)]
    assert all(tokenise(spelling) == words for spelling in spellings)


@pytest.mark.parametrize("text", ["A" * 1_000_000, "aA" * 500_000, "_" * 1_000_000, "Aa_" * 300_000])
def test_a_million_characters_meant_to_make_a_pattern_backtrack_still_end(text):
    """Quadratic time would be hours here, so the test's own time limit is the check."""
    assert "".join(tokenise(text)) == text.replace("_", "").lower()
