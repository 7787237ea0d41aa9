"""What queries cannot ask for."""

from support.refusals.shape import COMMAND, HTTP, PYTHON, rows_of

from hubless.errors import PointNotFound, UnknownField
from hubless.search.ranker import MOST_CANDIDATES
from hubless.search.selection import MOST_DIVERSE

EVERYWHERE = (PYTHON, COMMAND, HTTP)
SHARE = "expected a number …0…1"
IN_BOUNDS = rows_of(
    "query",
    limit=[(0, "limit: expected a whole number …1…, got 0")],
    strength=[
        (-0.1, "strength: expected a number of at least 0…, got -0.1"),
        (2.1, "strength: expected a number …at most 2, got 2.1"),
    ],
    skip=[(-1, "skip: expected a whole number …0…, got -1")],
    doors=EVERYWHERE,
)
OF_TYPES = rows_of(
    "query",
    ({"diversity": 0.5, "limit": MOST_DIVERSE, "skip": 1}, "limit: expected at most 1000 with diversity"),
    *(
        ({name: value}, f"{name}: {SHARE}")
        for name in ("min_confidence", "min_presence")
        for value in (-0.1, 1.1, "0.5", True)
    ),
    limit=[(value, "limit: expected a whole number …1…, got ") for value in (1.5, True, "10")],
    strength=[(value, "strength: expected a number") for value in ("full", True)],
    skip=[(1.5, "skip: expected a whole number …0…, got 1.5")],
    diversity=[(value, f"diversity: {SHARE}") for value in (1.01, True)],
    group_by=[
        ("shelf", "group_by: expected a column of the payload, year, price", UnknownField),
        (3, "group_by: expected a …, got 3"),
    ],
    coverage=[(2, f"coverage: {SHARE}"), (0.9, "coverage: expected none, as confidence is not calibrated")],
    min_accuracy=[(2, "min_accuracy: expected a number …0…, got 2"), (0.9, "min_accuracy: expected ")],
    doors=(PYTHON, HTTP),
)
OF_PYTHON = rows_of(
    "query",
    ({"vectors": None, "ids": ["id-3", "nobody"]}, "…nobody", PointNotFound),
    limit=[
        (value, f"limit: expected a whole number of at least 1, got {value!r}") for value in (-1, None, float("nan"))
    ],
    strength=[
        (value, "strength: expected a number of at least 0 and at most 2, got ")
        for value in (float("nan"), float("inf"), [1], 1j, 10**400)
    ],
    skip=[("1", "skip: expected a whole number of at least 0")],
    diversity=[(float("nan"), "diversity: expected a number")],
    min_confidence=[(float("nan"), f"min_confidence: {SHARE}")],
    min_presence=[(None, f"min_presence: {SHARE}")],
    parameters=[
        ({"ef": 5}, "parameters: expected none, as the index is flat, got ef"),
        ({"candidates": 9}, "parameters: expected none, as "),
    ],
    vectors=[(None, "vectors: expected either vectors or ids")],
    ids=[(["id-3"], "vectors: expected either vectors or ids")],
    with_payload=[
        (["cost"], "with_payload: expected columns of the payload, year, …got cost", UnknownField),
        *(
            (value, f"with_payload: expected True, False, or a list of columns, got {value!r}")
            for value in ("price", [1], 3)
        ),
    ],
)
OF_RESCORED = rows_of(
    "query_rescored",
    parameters=[
        ({"candidates": MOST_CANDIDATES + 1}, f"parameters.candidates: expected at most {MOST_CANDIDATES}"),
        *(
            ({"candidates": wanted}, "parameters.candidates: expected a whole number of at least 1")
            for wanted in (0, -5, 1.5, "many", None, True)
        ),
    ],
)
OF_BARE = rows_of(
    "query_bare",
    ({"with_payload": ["price"]}, "with_payload: expected none, as there is no payload, got price", UnknownField),
    ({"group_by": "kind"}, "group_by: expected none, as collection 'index' has no payload"),
)
ROWS_OF_QUERIES = [*IN_BOUNDS, *OF_TYPES, *OF_PYTHON, *OF_BARE, *OF_RESCORED]
