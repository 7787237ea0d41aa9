import numpy as np

from hubless.encoders.halves import each_encoded
from hubless.errors import TextRefused


def test_one_text_that_an_endpoint_refuses_is_skipped_alone():
    asked = []

    def encode(texts):
        asked.append(list(texts))
        if "bad" in texts:
            raise TextRefused("texts", "such that it takes", "bad")
        return np.ones((len(texts), 2), np.float32)

    found = each_encoded(encode, ["a", "b", "bad", "c", "d"])
    assert [isinstance(each, TextRefused) for each in found] == [False, False, True, False, False]
