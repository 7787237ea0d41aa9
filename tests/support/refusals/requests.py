"""What HTTP alone can ask for, and what no request can say."""

import base64

import numpy as np
import pyarrow as pa
from support.refusals.shape import BANK, DIM, HTTP, NAMES, TARGETS, among, rows_of

from hubless.errors import (
    CollectionNotFound,
    DimensionMismatch,
    NoEncoder,
    NotFinite,
    PointNotFound,
    ScoresNotFound,
    UnknownField,
    UnknownWords,
    ZeroVector,
)

GOOD = BANK[0].tolist()
ZEROS = [0] * DIM
LONG = [1e9] * DIM
POINTS = [{"id": name, "vector": vector} for name, vector in zip(NAMES, among(TARGETS.tolist(), ZEROS), strict=True)]


def alone(call, *rows, **of_argument):
    return rows_of(call, *rows, doors=(HTTP,), **of_argument)


def at(value):
    """A good vector with something else in it."""
    return [*GOOD[:5], value, *GOOD[6:]]


def encoded(values):
    return base64.b64encode(np.asarray(values, "<f4").tobytes()).decode()


def nested(depth, kind=list):
    value = 1
    for _ in range(depth):
        value = {"x": value} if kind is dict else [value]
    return value


UNKNOWN = "got an unknown field"
NOT_ONE = "vector: expected one of vector, text, image and id, got "
DEEP = "body: …inside each other"
OF_VECTORS = alone(
    "query",
    ({"vector": None}, f"{NOT_ONE}none of them"),
    ({"text": "amber"}, f"{NOT_ONE}vector and text"),
    ({"vector": None, "id": "id-3", "text": "amber"}, f"{NOT_ONE}text and id"),
    ({"vector": None, "image": "", "text": "red"}, f"{NOT_ONE}text and image"),
    *(({"vector": None, "id": given}, f"id: expected …, got {told}") for given, told in ((5, "5"), (True, "true"))),
    ({"vector": None, "id": "nobody"}, "id: no target has the id 'nobody'", PointNotFound),
    ({"vector": None, "text": "x"}, "text: expected ", NoEncoder),
    vector=[
        (at("0.5"), 'vector[5]: expected …, got the string "0.5"'),
        (at(True), "vector[5]: expected …, got true"),
        (at(None), "vector[5]: expected …, got null"),
        ([GOOD, GOOD], f"vector[0]: expected …, got a list of {DIM}"),
        (at(1e39), "vector[5]: expected …, got 1e+39", NotFinite),
        (at(10**50), "vector[5]: expected …, got 1e+50", NotFinite),
        (GOOD[1:], f"vector: expected …, got {DIM - 1} dimensions", DimensionMismatch),
        ([], "vector: expected …, got 0 dimensions", DimensionMismatch),
        (ZEROS, "vector: expected …, got zeros only", ZeroVector),
        ([1e-60] * DIM, "vector: expected …, got zeros only", ZeroVector),
        (5, "vector: expected …, got 5"),
        ({"values": GOOD}, "vector: expected …, got an object"),
        *((text, "vector: expected ") for text in ("not base64!", encoded(GOOD)[:-3], f"{encoded(GOOD)}\n", "äöü")),
        ("", "vector: expected …, got 0 dimensions", DimensionMismatch),
        (base64.b64encode(b"12345").decode(), "vector: expected …, got 5 bytes"),
        (encoded(GOOD[:3]), "vector: expected …, got 3 dimensions", DimensionMismatch),
        (encoded(at(np.nan)), "vector[5]: expected …, got nan", NotFinite),
        (encoded(at(-np.inf)), "vector[5]: expected …, got -inf", NotFinite),
        (encoded(ZEROS), "vector: expected …, got zeros only", ZeroVector),
    ],
)
OF_OPTIONS = alone(
    "query",
    *(
        ({"with": given}, f"with: expected …, got {told}")
        for given, told in (
            ("payload", 'the string "payload"'),
            (["payload", "colour"], '["payload","colour"]'),
            ([["payload"]], '[["payload"]]'),
            (["vector\n"], '["vector\\n"]'),
        )
    ),
    ({"with": ["payload.rnak"]}, "with: expected …, got rnak", UnknownField),
    *(
        ({name: 5}, f"{name}: expected …, {UNKNOWN}{meant}", UnknownField)
        for name, meant in (
            ("limt", ""),
            ("top_k", "; did you mean limit?"),
            ("offset", "; did you mean skip?"),
            ("with_payload", "; did you mean with?"),
        )
    ),
    ({"diversity": 0.5, "score_threshold": 0}, "score_threshold: expected "),
    ({"params": {"ef": nested(255)}}, DEEP),
    limit=[
        (1001, "limit: expected …, got 1001"),
        ("9" * 100_000, "limit: expected "),
        (nested(300, dict), DEEP),
    ],
    skip=[(4991, "skip: expected …, got 4991")],
    score_threshold=[("0.5", 'score_threshold: expected …, got the string "0.5"')],
    explain=[(1, "explain: expected …, got 1")],
    params=[
        ([1], "params: expected …, got a list of 1"),
        ({"nprobe": 4}, "params: expected …, got nprobe"),
        ({"exact": 1}, "params.exact: expected …, got 1"),
    ],
)
OF_TEXTS = alone(
    "query_words",
    text=[
        (5, "text: expected …, got 5"),
        (["amber"], "text: expected …, got a list of 1"),
        ("amber" + 9996 * "s", "text: expected at most 10000 characters, got 10001"),
        *((text, "text: expected ", UnknownWords) for text in ("zzz yyy", "")),
    ],
    image=[("aGk=", "vector: expected one of ")],
)
OF_NUMBERS = alone(
    "query_dot",
    *(({"vector": None, "id": given}, "id: expected ") for given in ("5", 5.0)),
    ({"filter": {"field": "rank", "eq": 1}}, "filter: expected none"),
    vector=[([3e38, sign * 3e38] * (DIM // 2), "vector: expected ", NotFinite) for sign in (1, -1)],
)
OF_BATCHES = alone(
    "batch",
    ({"limit": 5}, f"limit: expected …, {UNKNOWN}", UnknownField),
    queries=[
        (None, "queries: expected …, got null"),
        ({}, "queries: expected …, got an object"),
        ([], "queries: expected …, got 0"),
        ([{"vector": GOOD}] * 1001, "queries: expected 1 to 1000 queries, got 1001"),
        ([5], "queries[0]: expected …, got 5"),
    ],
)
OF_READING = [
    *alone(
        "points",
        ({"ids": ["x"], "with": ["colour"]}, "with: expected "),
        ({"ids": ["x"], "with": ["payload.colour"]}, "with: expected ", UnknownField),
        ({"id": ["x"]}, "id: expected ", UnknownField),
        ids=[
            *((ids, "ids: expected ") for ids in (None, [], ["x"] * 1001)),
            (["x", 5], "ids[1]: expected …, got 5"),
        ],
    ),
    *(
        row
        for call in ("scroll", "count")
        for row in alone(
            call,
            ({"fitler": None}, "fitler: expected ", UnknownField),
            filter=[
                ([], "filter: expected "),
                ({"field": "rnak", "lt": 1}, "filter.field: expected ", UnknownField),
                ({"or": [{"year": 1}] * 256}, "filter: expected at most 256 conditions"),
                (nested(300, dict), DEEP),
            ],
        )
    ),
    *alone(
        "scroll",
        ({"with": "payload"}, "with: expected "),
        ({"with": nested(300)}, DEEP),
        ({"offset": 5}, "offset: expected …did you mean cursor?", UnknownField),
        limit=[(limit, "limit: expected ") for limit in (0, 1001)],
        cursor=[(cursor, "cursor: expected ") for cursor in ("", "ä", "%", 5, "W10=")],
    ),
]


def point(**changes):
    """A good point, and one with something else in it."""
    return {"points": [{"id": "good", "vector": GOOD}, {"id": "bad", "vector": GOOD} | changes]}


OF_POINTS = alone(
    "put",
    *(
        ({"points": [{"id": "a", "vector": GOOD}], name: wrong}, f"{name}: expected ")
        for name, wrong in (("mode", "replace"), ("durability", "tape"))
    ),
    *(
        (point(vector=vector), f"points[1].{words}", *error)
        for vector, words, *error in (
            ([1.0], "vector: expected ", DimensionMismatch),
            ([1e39] * DIM, "vector[0]: expected ", NotFinite),
            (ZEROS, "vector: expected ", ZeroVector),
            (at("x"), "vector[5]: expected "),
            (7, "vector: expected "),
        )
    ),
    (point(text="boat"), "points[1].vector: expected one of vector, text and image, got vector and text"),
    (point(vector=None, image="ABCD"), "points[1].image: expected ", NoEncoder),
    *((point(id=wrong), "points[1].id: expected ") for wrong in (7, "good")),
    (point(colour="red"), "points[1].colour: expected ", UnknownField),
    (point(payload={"colour": "red"}), "points[1].payload: expected ", UnknownField),
    *(
        (point(payload=payload), f"points[1].payload{words}: expected ")
        for payload, words in (
            ([], ""),
            ({"title": 5}, ".title"),
            ({"tags": ["a", 1]}, ".tags[1]"),
            ({"year": 2**40}, ".year"),
            ({"price": 2**53 + 1}, ".price"),
            ({"live": 1}, ".live"),
            ({"day": "2020-01-01T17:45:00"}, ".day"),
            ({"at": "2020-01-01T17:45:00.1234567"}, ".at"),
            ({"zoned": "0001-01-01T00:00:00+14:00"}, ".zoned"),
        )
    ),
    points=[
        (None, "points: expected "),
        ([], "points: expected "),
        ([{"id": "a"}] * 1001, "points: expected 1 to 1000 points"),
        (POINTS, "points[699].vector: expected ", ZeroVector),
    ],
)
OF_WORDS = alone(
    "put_words",
    points=[([{"id": 1, "text": "amber"}, {"id": 2, "text": "zzz"}], "points[1].text: expected ", UnknownWords)],
)
OF_LENGTHS = alone(
    "put_dot", points=[([{"id": 1, "vector": LONG}], "points[0].vector: expected …of length 1e+08 at most", NotFinite)]
)
OF_PATCHES = alone(
    "patch",
    points=[
        ([{"id": "id-1", "payload": {name: wrong}}], f"points[0].payload.{name}: expected ")
        for name, wrong in (("title", 5), ("zoned", "9999-12-31T23:59:59-12:00"))
    ],
)
OF_DELETION = alone(
    "delete",
    ({}, "ids: expected "),
    ({"ids": ["a"], "filter": {"and": []}}, "ids: expected "),
    ({"ids": [7]}, "ids[0]: expected "),
    ({"filter": {"field": "colour", "eq": 1}}, "filter.field: expected ", UnknownField),
)
PAIR = pa.array(["a", "b"])


def vectors(rows, kind=None):
    return pa.array(rows, kind or pa.list_(pa.float32(), len(rows[0])))


BOTH = vectors([GOOD, GOOD])
WIDE = {f"c{column}": [1.0, 2.0] for column in range(600)}
OF_ARROW = alone(
    "put",
    *(
        ({"arrow": pa.table(columns)}, *told)
        for columns, *told in (
            ({"vector": BOTH}, "id: expected a column"),
            ({"id": [1, 2], "vector": BOTH}, "id: expected strings"),
            ({"id": ["a", None]}, "id[1]: expected an id, got null"),
            ({"id": ["a", "a"]}, "id[1]: expected an id that no other point has"),
            ({"id": PAIR, "vector": vectors([[1, 2]] * 2)}, "vector: expected …dimensions", DimensionMismatch),
            ({"id": PAIR, "vector": vectors([GOOD, at(np.nan)])}, "vector, row 1", NotFinite),
            ({"id": PAIR, "colour": PAIR, "vector": BOTH}, "…colour", UnknownField),
            ({"id": PAIR, "year": [1.0, 1.5], "vector": BOTH}, "year[1]: expected values of type int32, got 1.5"),
            ({"id": PAIR, "tags": [1, 2], "vector": BOTH}, "tags[0]: expected values of type"),
            ({"id": PAIR, "tags": [[{"y": 1}], None], "vector": BOTH}, "tags…: expected "),
            ({"id": [*NAMES, "more"]}, "…1 to 1000 points"),
            ({"id": pa.array([], pa.string())}, "…1 to 1000 points"),
            ({"id": ["a"], "title": ["one"]}, "…one of nulls, pa.nulls(len(table)), got columns id, title"),
            ({"id": PAIR, **WIDE}, "…c6 and 593 more"),
            *(
                (
                    {"id": ["a"], name: vectors([[np.float16(1)] * DIM], kind)},
                    f'…table.rename_columns({{"{name}": "vector"}}), got lists of numbers in {name}',
                )
                for name, kind in (
                    ("embedding", pa.list_(pa.float64())),
                    ("Vector", pa.large_list(pa.float16())),
                    ("values", pa.list_(pa.int8(), DIM)),
                )
            ),
        )
    ),
    ({"arrow": pa.table([PAIR, PAIR], ["id", "id"])}, "…one column of that name"),
)
LABELS = [str(row) for row in range(40)]
OF_BANKS = alone(
    "bank",
    ({"fit": False}, "…one of vectors, texts, payload, sampled"),
    ({"texts": ["a"], "sampled": 200}, "…got texts and sampled"),
    ({"texts": ["a", "b"]}, "…", NoEncoder),
    ({"payload": ["nothing"]}, "payload: expected one of the columns", UnknownField),
    *(
        ({"sampled": wanted, **more}, words)
        for wanted, more, words in (
            *((wanted, {}, "sampled: expected a whole number from 200 to 4000") for wanted in (199, 4001)),
            (200, {"mode": "append"}, "…append"),
        )
    ),
    *(
        ({"vectors": BANK.tolist(), **more}, words)
        for more, words in (
            ({"mode": "add"}, "mode: expected one of replace, append"),
            ({"correction": "best"}, "correction: expected "),
            ({"correction": "csls", "parameters": {"depth": 1}}, "…depth"),
            ({"fit_by": "title"}, "groups: expected for each query its group"),
            ({"fit_by": "title", "groups": ["1"]}, "groups: expected 40 entries, one for each query, got 1"),
            ({"groups": LABELS}, "groups: expected none without fit_by"),
            ({"fit_by": "title", "correction": "dis"}, "fit_by: expected none beside correction dis"),
            ({"fit_by": "title", "groups": [1.5] * 40}, "groups[0]"),
        )
    ),
    *(
        ({"vectors": BANK.tolist(), "relevant": relevant}, f"relevant{words}")
        for relevant, words in (
            (["id-0"], ": expected 40 entries, one for each query, got 1"),
            (["id-0"] * 19 + [None] * 21, ": expected right targets for at least 20 queries, got for 19"),
            (
                ["id-0", ["id-1", "nobody"], *NAMES[2:40]],
                "[1]: expected the id of a target, a text such as …, got 'nobody'",
            ),
            ([7, *NAMES[1:40]], "[0]: expected the id of a target, a text such as …, got 7, a number"),
            ("0", ": expected a list: for each query an id"),
            ([{"0": 1}], ": expected a list: for each query an id"),
        )
    ),
    *(
        ({"arrow": pa.table(columns)}, *told)
        for columns, *told in (
            ({"x": [1, 2]}, "…a column of this name"),
            ({"vector": BOTH, "x": [1, 2]}, "…the column vector, and perhaps relevant"),
            (WIDE, "…c6, c7 and 592 more"),
            ({"embedding": BOTH}, '…{"embedding": "vector"}'),
            ({"vector": PAIR}, f"…fixed_size_list<float32>[{DIM}]"),
            ({"vector": vectors([[1, 2], [3, 4]])}, "…dimensions", DimensionMismatch),
            ({"vector": pa.array([GOOD, None], pa.list_(pa.float32(), DIM))}, "vector[1]"),
        )
    ),
    vectors=[
        ([GOOD, [1, 2]], f"vectors[1]: expected {DIM} dimensions", DimensionMismatch),
        ([["x"] * DIM], "vectors[0]"),
        ([GOOD, encoded([np.nan] * DIM)], "vectors[1]", NotFinite),
        ([ZEROS, GOOD], "vectors[0]", ZeroVector),
        ([GOOD], "…at least 2 queries, better 100 and more"),
        ([GOOD] * 50_001, "…1 to 50000 queries"),
    ],
)
LIST = {"ids": ["a", "b"], "scores": [2.0, 1.0]}
KNOWN = {"ids": [1, 2], "scores": [2.0, 1.0], "correction": "known"}
ASKED = {"collection": "things", "vector": GOOD}
OF_CUT = "cut: expected the JSON of a hubless.Cut"
OF_RERANK = alone(
    "rerank",
    ({"fusion": "sum"}, 'fusion: expected one of min_max, z, rrf, got the string "sum"'),
    ({"min_accuracy": 0.9}, "min_accuracy: expected a cut beside it"),
    ({"lists": [KNOWN], "min_accuracy": 0.9}, "min_accuracy: expected none, as confidence"),
    *(
        ({"lists": [LIST, given]}, f"lists[1]{words}", *error)
        for given, words, *error in (
            ({}, ".ids: expected ids and scores, or collection with a query, got none"),
            ({"ids": ["a"]}, ".scores: expected ids and scores"),
            ({"ids": ["a"], "scores": [1, 2]}, ".scores: expected as many as ids, 1, got 2"),
            ({"ids": ["a", "a"], "scores": [2, 1]}, ".ids[1]: expected each item once in a list"),
            ({"ids": ["a", True], "scores": [2, 1]}, ".ids[1]: expected a string, or a whole number"),
            ({"ids": [2**63], "scores": [2]}, ".ids[0]: expected a string, or a whole number of 64 bits"),
            ({"ids": [1, 2], "scores": [2, "x"]}, '.scores[1]: expected a number, got the string "x'),
            ({"ids": ["a"] * 1001, "scores": []}, ".ids: expected at most 1000 ids, got 1001"),
            (LIST | {"weight": -1}, ".weight: expected a number of at least 0, got -1"),
            (LIST | {"strength": 1}, ".strength: expected none without correction"),
            (KNOWN | {"distance": True}, ".distance: expected none beside"),
            (LIST | {"vector": [1.0]}, ".vector: expected none without collection"),
            (LIST | {"collection": "things"}, ".ids: expected none beside collection"),
            (LIST | {"with": ["payload"]}, ".with: expected none without collection"),
            (ASKED | {"with": ["vector"]}, ".with: expected payload, or columns of it, got vector"),
            (ASKED | {"with": ["payload.no"]}, ".with", UnknownField),
            ({"collection": "things"}, ".vector: expected one of vector, text, image and id"),
            (ASKED | {"filter": {"no": 1}}, ".filter", UnknownField),
            (ASKED | {"vector": at("x")}, ".vector[5]: expected a number"),
            (ASKED | {"vector": [1.0]}, ".vector", DimensionMismatch),
            ({"collection": "things", "text": "dog"}, ".text", NoEncoder),
            (KNOWN, ".ids[0]: expected the id of a hit, a text such as 'a', got 1, a number"),
            (LIST | {"colour": 1}, ".colour", UnknownField),
        )
    ),
    *(
        ({"lists": [LIST, given]}, "…", error)
        for given, error in (
            (LIST | {"correction": "none"}, ScoresNotFound),
            (LIST | {"correction": "../things"}, ScoresNotFound),
            ({"collection": "none", "vector": [1.0]}, CollectionNotFound),
            ({"collection": "things", "id": "nobody"}, PointNotFound),
        )
    ),
    ({"lists": [ASKED, LIST | {"ids": ["a", 2]}]}, "lists[1].ids[1]: expected the id of a hit, a text such"),
    lists=[([], "lists: expected 1 to 10 lists, got 0"), ([LIST] * 11, "lists: expected 1 to 10 lists, got 11")],
    cut=[(5, OF_CUT), ({"temperature": 1}, OF_CUT)],
)


def bombs():
    """Tables that say in a few bytes what takes gigabytes in memory, or that say something else."""
    long = pa.DictionaryArray.from_arrays([0] * 3000, pa.array(["x" * 2**20]))
    yield {"query": [1] * 3000, "id": long, "score": [1] * 3000}
    empty = pa.array([[]] * 3, pa.list_(pa.int64(), 0))
    yield {"ids": empty, "scores": empty}
    yield {"query": [1], "id": pa.nulls(1), "score": [1.0]}
    yield {"query": [{"a": 1}], "id": ["a"], "score": [1.0]}
    yield {"query": [1], "id": ["a"], "score": ["1"]}
    yield {"query": [1], "id": ["a"], "score": [1.0], "payload": ["x"]}
    yield {"id": ["a"], "offset": [1.0]}


OF_KEPT_SCORES = alone(
    "scores",
    *(({"arrow": pa.table(columns)}, "…expected ") for columns in bombs()),
    ({"trusted": ["shop"]}, "trusted: expected none without learn"),
    lists=[
        ([], "lists: expected a list of at least one object with ids and scores, got a list of 0"),
        ([LIST, 3], "lists[1]: expected an object with ids and scores, got 3"),
        ([LIST, {"ids": ["a"]}], "lists[1].scores: expected one for each list, got none"),
        ([LIST, LIST | {"scores": [1, "x"]}], "lists[1].scores[1]: expected a number, got 'x'"),
    ],
    labelled=[
        ([LIST | {"relevant": 5}], "labelled[0].relevant: expected the id of a hit, a"),
        ([LIST | {"relevant": ["a", 5]}], "labelled[0].relevant[1]: expected the id"),
        ([{"ids": [1], "scores": [2.0], "relevant": "a"}], "labelled[0]."),
        ([LIST | {"scores": [1], "relevant": "a"}], "labelled[0]: expected as many"),
        ([LIST | {"relevant": "a"}], "lists: expected a log of at least 20 lists"),
    ],
)
ENDPOINT = {"type": "openai", "url": "http://127.0.0.1:9", "model": "words"}
OF_CREATION = alone(
    "create",
    ({"id_type": None}, "id_type: expected "),
    ({"dims": 5}, "…keep_full"),
    *(
        (
            {"encoder": ENDPOINT | changed},
            f"encoder.{words}",
            *error,
        )
        for changed, words, *error in (
            ({"type": "onnx", "path": "/etc"}, "type: expected "),
            ({"api_key_env": "PATH"}, "api_key_env: expected "),
            ({"url": "file:///etc/passwd"}, "url: expected "),
            ({"url": 3}, "url: expected "),
            ({"dim": 2}, "dim: expected "),
            ({"modle": "x"}, "modle: expected "),
        )
    ),
    dim=[("3", "dim: expected ")],
    id_type=[(7, "id_type: expected ")],
    payload_schema=[([], "payload_schema: expected ")],
)


def clicks(*changes):
    """A good click, and some with something else in them; None leaves a member out."""
    good = {"query": {"vector": GOOD}, "target": "id-1"}
    made = [{name: each for name, each in (good | change).items() if each is not None} for change in ({}, *changes)]
    return {"clicks": made}


OF_CLICKS = alone(
    "clicks",
    *(
        (clicks(*changes), words, *error)
        for changes, words, *error in (
            (
                ({"target": "x"}, {}, {"target": "y"}),
                '…clicks[1].target the string "x", clicks[3].target the string "y": no',
                PointNotFound,
            ),
            (({"target": 7},), "clicks[1].target: expected a string"),
            (({"target": None},), "clicks[1].target: expected a string, as the ids of collection"),
            (({"query": {"vector": [1.0]}},), "clicks[1].query.vector: expected", DimensionMismatch),
            (
                ({"query": {"text": "amber", "image": ""}},),
                "…expected one of vector, text and image, got text and image",
            ),
            (({"query": {"id": "x"}},), "clicks[1].query.id: expected one of image, text, vector", UnknownField),
            (({"position": 0},), "clicks[1].position: expected a whole number from 1"),
            (({},) * 1000, "clicks: expected 1 to 1000 clicks, got 1001"),
        )
    ),
)
ROWS_OF_REQUESTS = [
    *(*OF_VECTORS, *OF_OPTIONS, *OF_TEXTS, *OF_NUMBERS, *OF_BATCHES, *OF_READING),
    *(*OF_POINTS, *OF_WORDS, *OF_LENGTHS, *OF_PATCHES, *OF_DELETION, *OF_ARROW, *OF_BANKS),
    *(*OF_RERANK, *OF_KEPT_SCORES, *OF_CREATION, *OF_CLICKS),
]
