import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.made_pairs import make_pairs

from hubless import CORRECTIONS
from hubless_demo.measuring import encode_known, split_pairs
from hubless_demo.pairs import Pair, find_pairs, standard_library
from hubless_demo.word_vectors import TABLE, learn, normalise

QUESTIONS = json.loads(Path(__file__).with_name("questions.json").read_text("utf-8"))
"""Plain questions, and the names of functions that answer each."""


def test_table_is_the_one_that_its_file_describes_and_small():
    about = json.loads(TABLE.with_suffix(".json").read_text("utf-8"))
    content = TABLE.read_bytes()
    assert (about["sha256"], about["licence"]) == (hashlib.sha256(content).hexdigest(), "Apache-2.0")
    assert len(content) < 2**21


def test_function_is_the_direction_of_its_source_and_of_its_name_alike():
    code = learn(make_pairs(60)).code
    [vector] = code.encode([Pair("sort", "", "", 1, "", "read READ")])
    source, name = normalise(np.array([code.of_code[code.vocabulary["read"]], code.of_name[code.vocabulary["sort"]]]))
    assert vector @ source == pytest.approx(vector @ name)
    assert vector @ (source + name) == pytest.approx(np.linalg.norm(source + name))


@pytest.mark.slow
def test_the_demo_answers_more_than_half_of_plain_questions_first():
    pairs = find_pairs(standard_library())
    encoders = learn(split_pairs(pairs, 0).known)
    bank, _ = encode_known(encoders, pairs)
    functions = encoders.code.encode(pairs)
    offsets = CORRECTIONS["auto"]().fit(bank, functions).offsets(functions)
    best = np.argmax(encoders.text.encode(list(QUESTIONS)) @ functions.T - offsets, axis=1)
    assert sum(map(bool, map(re.fullmatch, QUESTIONS.values(), [pairs[row].name for row in best]))) >= 8
