"""Lists of scores and logs of them that cannot be read."""

import numpy as np
import pyarrow as pa
from support.refusals.shape import content, rows_of
from support.score_logs import hubby_log

from hubless.errors import StorageError

NUMBERED = "expected the id of a hit, a whole number such as "
OF_FUSING = rows_of(
    "fuse",
    by=[("sum", "by: expected one of min_max, z, rrf, got sum")],
    weights=[
        ([1, 2], "weights: expected 1 numbers, one for each list, got 2"),
        ([-1], "weights[0]: expected a number of at least 0"),
    ],
    lists=[
        ([(["a"], [1.0]), (["a"], [])], "lists[1]: expected ids and as many finite scores, got 1 ids, 0 scores"),
        ([(["17"], [1.0]), ([17], [1.0])], "lists[1].ids[0]: expected the id of a hit, a text such as '17', got 17"),
        ([([], []), ([np.int64(1), "2"], [2.0, 1.0])], f"lists[1].ids[1]: {NUMBERED}"),
        ([([1], [1.0]), ([True], [1.0])], f"lists[1].ids[0]: {NUMBERED}1"),
    ],
)
OF_LISTS = rows_of(
    "correct_scores",
    *(
        ({"lists": lists}, words)
        for lists, words in (
            ("text", "lists: expected lists of ids and scores"),
            ({"ids": [1]}, "lists: expected lists of ids and scores"),
            ([], "lists: expected at least one list with a hit"),
            ([([], [])], "lists: expected at least one list with a hit"),
            ([(["a"], [1.0]), ["a"]], "lists[1]: expected a pair of ids and scores"),
            ([{"ids": ["a"]}], "lists[0]: expected ids and scores, got no scores"),
            ([(["a", "b"], [1.0])], "lists[0]: expected as many scores as ids, 2, got 1"),
            ([(["a"], [1.0]), (["b", 5], [2.0, 1.0])], "lists[1].ids[1]: expected the id of a hit, a text"),
            ([([1], [1.0]), ([True, 2], [2.0, 1.0])], "lists[1].ids[0]: expected the id of a hit, a whole"),
            ([(["a", None], [1.0, 0.5])], "lists[0].ids[1]: expected the id of a hit, a text such as 'a', got none"),
            ([([["a"]], [1.0])], "lists[0].ids[0]: expected the id of a hit, a text or a whole"),
            ([([2**63], [1.0])], "lists.ids: expected a whole number below 2^63"),
            ([([b"a", b"\xff"], [2.0, 1.0])], "lists.ids: expected text in UTF-8"),
            ([(["a"], ["high"])], "lists[0].scores[0]: expected a number, got 'high'"),
            ([(["a"], [True])], "lists[0].scores[0]: expected a number, got True"),
            ([(["a"], [1.0]), (["a", "b"], [1.0, float("inf")])], "lists[1].scores[1]: expected a finite"),
            ([([], []), (["a", "b", "a"], [3, 2, 1])], "lists[1].ids: expected each item once in a list"),
            ([(["a", "b"], [0.1, 0.4]), (["b", "a"], [0.2, 0.3])], "lists: expected scores, higher is better"),
            (pa.table({"a": [1]}), "lists: expected the columns ids and scores of lists"),
            (pa.table({"ids": [["a"], None], "scores": [[1.0], [2.0]]}), "lists[1].ids: expected a list"),
            (pa.table({"ids": [["a", "b"]], "scores": [[1.0]]}), "lists[0]: expected as many scores"),
            (pa.table({"ids": [["a"], ["b"]], "scores": [[1.0], [None]]}), "lists[1].scores[0]: expected"),
            (pa.table({"ids": [["a"]], "scores": [["b"]]}), "lists.scores: expected a column of numbers"),
            (pa.table({"ids": [["a", None]], "scores": [[1.0, 0.5]]}), "lists[0].ids[1]: expected an id"),
            (
                [(ids, [20.0, 19.0, 18.0]) for ids in np.arange(180).reshape(60, 3).tolist()],
                "lists: expected …scores that are made of ranks",
            ),
            (
                [(ids.tolist(), (1 / np.arange(61, 81)).tolist()) for ids in hubby_log(queries=60)[0]],
                "lists: expected …correct the lists that go into reciprocal rank fusion",
            ),
        )
    ),
)
OTHER_IDS = [["0", "1"], [0, "1"], np.array(["0", "1"]), [True, 1], [0.5, 1], [None, 1]]
PAIR = [0], [1.0]
OF_FITTED = [
    *(
        row
        for call in ("rerank", "confidence")
        for ids in OTHER_IDS
        for row in rows_of(call, ({"ids": ids}, f"ids[…]: {NUMBERED}"))
    ),
    *rows_of(
        "calibrate",
        *(
            ({"lists": [PAIR, (ids, [2.0, 1.0])], "relevant": [0, 0]}, f"lists[1].ids[…]: {NUMBERED}")
            for ids in OTHER_IDS
        ),
        *(({"lists": [PAIR, PAIR], "relevant": [0, ids]}, f"relevant[1][…]: {NUMBERED}") for ids in OTHER_IDS),
        ({"lists": [PAIR, PAIR], "relevant": [0]}, "relevant: expected 2 entries, one for each list, got 1"),
    ),
    *rows_of(
        "rerank",
        scores=[
            ([1.0], "scores: expected as many as ids, 2, got 1"),
            (["x", 1.0], "scores: expected a number for each id"),
            ([1.0, float("nan")], "scores[1]: expected a finite number, got nan"),
        ],
        strength=[(-1, "strength: expected a number of at least 0")],
    ),
]
LOGGED = '{"ids": ["a"], "scores": [1]}'
OF_LOGS = rows_of(
    "read_logged",
    path=[
        *(
            (content("log.jsonl", written), f"log (log.jsonl){words}")
            for written, words in (
                ("", ": expected at least one logged answer, got none"),
                ('{"ids"', ", line 1: expected a JSON document"),
                ('{"other": 1}', ", line 1: expected a logged answer. ids and scores: "),
                (
                    f'{LOGGED}\n\n{{"ids": [["a"]], "distances": [[1]]}}',
                    ", line 3: expected scores or distances, as the first",
                ),
                ('{"hits": {"hits": [{"_id": "a"}]}}', ", line 1: expected a logged answer. "),
                (f"{LOGGED}\nx", ", line 2: expected a JSON document"),
            )
        ),
        *(
            (content(name, written), f"log ({name}){words}")
            for name, written, words in (
                ("log.xlsx", "a", ": expected a file ending in .parquet, .csv, .tsv, .jsonl, …, got .xlsx"),
                ("log.csv.gz", "a", ": expected a file ending in .parquet, …: gunzip -k others, got .gz"),
                ("log.jsonl.gz", "a", ": expected a readable .gz file"),
                ("log.run", "q1 Q0 a 1 2.5 x\nq1 Q0 a 2 2.5 x", ", line 2: expected query, Q0, id, rank, score, tag"),
                ("log.run", "q1 Q0 a 1 high x", ", line 1: expected query, Q0, id, rank, score, tag"),
                ("log.json", "[]", ": expected at least one logged answer"),
                ("log.json", '{"a": {"b": {"c": 1}}}', "…: expected a logged answer"),
            )
        ),
        (lambda folder: folder / "none.jsonl", "…there is no such file", StorageError),
    ],
)
ROWS_OF_SCORES = [*OF_FUSING, *OF_LISTS, *OF_FITTED, *OF_LOGS]
