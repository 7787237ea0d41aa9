"""The checker of names finds each way in which an answer cannot be true, and takes what can be."""

from typing import Any

import pytest
from support.catalog_history import (
    ALIASED,
    ANY,
    DONE,
    NO_ALIAS,
    NO_COLLECTION,
    NONE,
    OTHER,
    THERE,
    UNASKED,
    Attempt,
    CatalogHistory,
    Held,
    Stands,
    State,
)
from support.history import Wrong


@pytest.fixture
def history():
    return CatalogHistory(State({"a": Stands("songs", 4)}, {"songs": Held("v1"), "words": Held("w1")}, revision=4))


def do(history, kind, name, answer, **more):
    """An attempt that is answered before anything else begins."""
    history.answered(history.begin(Attempt(kind, name, **more)), answer)


def read(history, kind, name, answer):
    history.read(history.moment(), kind, name, answer)


def settled(history):
    history.settle()
    return history.state


MOVED = ("put alias", "a", Stands("words", 5))
STALE: dict[str, Any] = {
    "new alias is unknown": ([("put alias", "b", Stands("songs", 5), {"value": "songs"})], ("stands", "b", None)),
    "removed alias is there": ([("delete alias", "a", Stands("songs", 4), {"match": 4})], ("stands", "a", "songs")),
    "moved alias is the old one": ([(*MOVED, {"value": "words", "match": 4})], ("stands", "a", "songs")),
    "etag is the old one": ([(*MOVED, {"value": "words", "match": 4})], ("alias", "a", Stands("songs", 4))),
    "activated version is not served": ([("activate", "songs", DONE, {"value": "v2"})], ("version", "songs", "v1")),
    "created collection is unknown": ([("create", "new", DONE, {})], ("there", "new", False)),
    "deleted collection is there": ([("delete", "words", DONE, {"value": False})], ("there", "words", True)),
    "alias of a deleted collection is there": (
        [("delete", "songs", DONE, {"value": True})],
        ("alias", "a", Stands("songs", 4)),
    ),
    "write is not read": ([("mark", "words", DONE, {"value": "m1"})], ("read mark", "words", None)),
    "point is from before it was made anew": (
        [
            ("mark", "words", DONE, {"value": "m1"}),
            ("delete", "words", DONE, {"value": False}),
            ("create", "words", DONE, {}),
        ],
        ("read mark", "words", "m1"),
    ),
}


@pytest.mark.parametrize("what", STALE)
def test_read_after_the_answer_of_what_was_before_is_found(history, what):
    attempts, stale = STALE[what]
    for kind, name, answer, more in attempts:
        do(history, kind, name, answer, **more)
    read(history, *stale)
    with pytest.raises(Wrong, match=stale[0]):
        history.settle()


@pytest.mark.parametrize("what", STALE)
def test_read_that_began_before_the_answer_may_see_what_was_before(history, what):
    (*earlier, (kind, name, answer, more)), stale = STALE[what]
    for each in earlier:
        do(history, *each[:3], **each[3])
    attempt = history.begin(Attempt(kind, name, **more))
    began = history.moment()
    history.answered(attempt, answer)
    if what == "point is from before it was made anew":  # but not one from before the answer of its deletion
        stale = ("read mark", name, None)
    history.read(began, *stale)
    history.settle()


def test_version_of_a_deleted_collection_is_not_one_of_its_successor(history):
    do(history, "create", "new", DONE)
    read(history, "version", "new", "n1")
    do(history, "delete", "new", DONE, value=False)
    do(history, "create", "new", DONE)
    read(history, "version", "new", "n1")
    with pytest.raises(Wrong, match="n1"):
        history.settle()


def test_two_versions_of_one_creation_are_found(history):
    do(history, "create", "new", DONE)
    read(history, "version", "new", "n1")
    read(history, "version", "new", "n2")
    with pytest.raises(Wrong, match="n2"):
        history.settle()


def test_workers_take_a_change_one_after_another_until_it_is_answered(history):
    attempt = history.begin(Attempt("put alias", "a", "words", match=4))
    for seen in ("songs", "words", "songs", "words"):
        read(history, "stands", "a", seen)
    history.answered(attempt, Stands("words", 5))
    read(history, "stands", "a", "words")
    assert settled(history).aliases == {"a": Stands("words", 5)}


def test_value_that_nobody_wrote_is_found(history):
    read(history, "stands", "a", "words")
    do(history, "put alias", "a", Stands("words", 5), value="words", match=4)
    with pytest.raises(Wrong, match="stands"):
        history.settle()


def test_two_changes_with_the_same_etag_cannot_both_be_done(history):
    first, second = [history.begin(Attempt("put alias", "a", "words", match=4)) for _ in range(2)]
    history.answered(first, Stands("words", 5))
    history.answered(second, Stands("words", 6))
    with pytest.raises(Wrong, match="put alias"):
        history.settle()


@pytest.mark.parametrize(
    ("answer", "more"),
    [
        (OTHER, {"match": 4}),
        (OTHER, {"match": ANY}),
        (UNASKED, {"match": 4}),
        (NO_COLLECTION, {"match": 4}),
        (Stands("words", 5), {}),
        (Stands("words", 5), {"match": NONE}),
        (Stands("words", 5), {"match": 3}),
        (Stands("words", 6), {"match": 4}),
        (Stands("songs", 5), {"match": 4}),
    ],
)
def test_wrong_answer_to_a_move_is_found(history, answer, more):
    do(history, "put alias", "a", answer, value="words", **more)
    with pytest.raises(Wrong):
        history.settle()


def test_right_answers_are_taken(history):
    do(history, "put alias", "a", UNASKED, value="words")
    do(history, "put alias", "a", OTHER, value="words", match=NONE)
    do(history, "put alias", "a", OTHER, value="words", match=3)
    do(history, "put alias", "b", NO_COLLECTION, value="none", match=ANY)
    do(history, "put alias", "b", OTHER, value="words", match=ANY)
    do(history, "put alias", "b", Stands("words", 5), value="words", match=NONE)
    do(history, "delete", "words", ALIASED, value=False)
    do(history, "delete", "words", DONE, value=True)
    do(history, "delete alias", "b", NO_ALIAS, match=ANY)
    do(history, "delete", "words", NO_COLLECTION, value=True)
    do(history, "mark", "words", NO_COLLECTION, value="m")
    do(history, "create", "songs", THERE)
    do(history, "put alias", "b", Stands("songs", 7), value="songs")
    assert settled(history).collections == {"songs": Held("v1")}
    assert history.done["put alias"] == 7


def test_collection_cannot_go_while_an_alias_stands_for_it(history):
    moving, deleting = [
        history.begin(attempt)
        for attempt in (Attempt("put alias", "b", "words", match=NONE), Attempt("delete", "words", value=False))
    ]
    history.answered(moving, Stands("words", 5))
    history.answered(deleting, DONE)
    with pytest.raises(Wrong, match="delete"):
        history.settle()


@pytest.mark.parametrize("seen", [True, False])
def test_change_without_an_answer_is_done_or_not(history, seen):
    history.begin(Attempt("create", "new"))
    history.begin(Attempt("put alias", "a", "words", match=4))
    read(history, "there", "new", not seen)
    history.rest()
    read(history, "there", "new", True)
    read(history, "alias", "a", Stands("words", 5) if seen else Stands("songs", 4))
    do(history, "put alias", "b", Stands("songs", 6 if seen else 5), value="songs")
    assert settled(history).aliases["a"].collection == ("words" if seen else "songs")
    assert history.done["lost"] == 2


def test_change_that_was_seen_and_is_gone_after_a_kill_is_found(history):
    history.begin(Attempt("put alias", "a", "words", match=4))
    read(history, "stands", "a", "words")
    history.rest()
    read(history, "stands", "a", "songs")
    with pytest.raises(Wrong, match="songs"):
        history.settle()


def test_answered_change_that_is_gone_after_a_kill_is_found(history):
    do(history, "activate", "songs", DONE, value="v2")
    history.settle()
    history.rest()
    read(history, "version", "songs", "v1")
    with pytest.raises(Wrong, match="v1"):
        history.settle()


def test_order_of_many_attempts_at_once_is_found(history):
    """Each of eight changes needs the one that was sent after it, and reads see them from last to first."""
    sent = [history.begin(Attempt("put alias", "a", "words", match=match)) for match in range(11, 3, -1)]
    for match in range(4, 12):
        read(history, "alias", "a", Stands("words", match + 1))
    for attempt in sent:
        history.answered(attempt, Stands("words", attempt.match + 1))
    assert settled(history).revision == 12


def test_bank_waits_until_a_new_version_has_it_or_the_service_refuses_it_once(history):
    do(history, "put bank", "songs", DONE, value=200)
    read(history, "bank", "songs", 200)
    read(history, "bank", "songs", ("v1", frozenset(), "12:00"))
    do(history, "put bank", "songs", DONE, value=300)
    read(history, "bank", "songs", ("v2", frozenset({300}), "12:00"))
    assert settled(history).collections["songs"].version == "v2"
    do(history, "put bank", "songs", DONE, value=200)
    read(history, "bank", "songs", ("v2", frozenset({300}), "12:00"))
    with pytest.raises(Wrong, match=r"'put bank'|'bank'"):
        history.settle()


def test_bank_that_is_gone_without_a_version_or_a_refusal_is_found(history):
    do(history, "put bank", "songs", DONE, value=200)
    read(history, "bank", "songs", ("v1", frozenset(), None))
    with pytest.raises(Wrong, match="'bank'"):
        history.settle()
