"""The scripts that are not tested with the real databases, against stand-ins that keep to the documented protocols."""

import json
import re
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest
from support import exports

import hubless


class Store:
    """What a stand-in holds."""

    def __init__(self):
        self.described, self.ids, self.vectors, self.payloads = None, [], [], []

    def best(self, vector, limit):
        products = np.array(self.vectors, np.float32) @ np.array(vector, np.float32)
        return [(row, float(products[row])) for row in np.argsort(-products, kind="stable")[:limit]]


class Search(Store):
    """Elasticsearch and OpenSearch: one index."""

    def answer(self, method, path, body):
        name, _, action = path.strip("/").partition("/")
        assert name == "pho-tos"
        if action == "_refresh":
            return {}
        if action == "_bulk":
            lines = [json.loads(line) for line in body.splitlines()]
            for head, source in zip(lines[::2], lines[1::2], strict=True):
                assert head == {"index": {"_id": str(source["id"])}}
                self.ids.append(source["id"])
                self.vectors.append(source["vector"])
                self.payloads.append(source)
            return {"errors": False}
        if action == "_search":
            asked = json.loads(body)
            question = asked.get("knn") or asked["query"]["knn"]["vector"]
            vector = question.get("query_vector") or question["vector"]
            assert question["k"] == asked["size"]
            return {
                "hits": {
                    "hits": [
                        {"_source": {"id": self.ids[row]}, "_score": x + 1 if x >= 0 else 1 / (1 - x)}
                        for row, x in self.best(vector, asked["size"])
                    ]
                }
            }
        if method == "PUT":
            self.described = json.loads(body)
            return {"acknowledged": True}
        if method == "DELETE":
            self.__init__()
            return {"acknowledged": True}
        return None if self.described is None else {}


class Weaviate(Store):
    """One class."""

    def answer(self, method, path, body):
        if path == "/v1/schema":
            self.described = json.loads(body)
            return self.described
        if path == "/v1/schema/Pho_tos":
            if method == "DELETE":
                self.__init__()
                return {}
            return self.described
        if path == "/v1/batch/objects":
            objects = json.loads(body)["objects"]
            self.ids += [each["properties"]["item_id"] for each in objects]
            self.vectors += [each["vector"] for each in objects]
            self.payloads += [each["properties"] for each in objects]
            return [{"result": {"status": "SUCCESS"}} for _ in objects]
        query = json.loads(body)["query"]
        vector = json.loads(re.search(r"vector: (\[.*?\])", query)[1])
        limit = int(re.search(r"limit: (\d+)", query)[1])
        found = [{"item_id": self.ids[row], "_additional": {"distance": -x}} for row, x in self.best(vector, limit)]
        return {"data": {"Get": {"Pho_tos": found}}}


@contextmanager
def standing_in(store):
    class Handler(BaseHTTPRequestHandler):
        def handle_any(self):
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            answer = store.answer(self.command, self.path, body)
            text = json.dumps(answer).encode()
            self.send_response(200 if answer is not None else 404)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


ENGINES = {"elasticsearch": Search, "opensearch": Search, "weaviate": Weaviate}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ids", ["whole", "text"])
def test_script_loads_and_finds_what_hubless_finds(engine, ids, request, tmp_path, monkeypatch):
    index = request.getfixturevalue(ids)
    hubless.export(index, tmp_path / "out", to=engine)
    store = ENGINES[engine]()
    with standing_in(store) as address:
        monkeypatch.setenv(f"{engine.upper()}_URL", address)
        recipe = exports.script(tmp_path / "out")
        client = recipe["connect"]()
        recipe["load"](client, False)
        assert len(store.ids) == exports.COUNT
        with pytest.raises(SystemExit, match="is there already: give --replace"):
            recipe["load"](client, False)
        recipe["load"](client, True)
        assert len(store.ids) == exports.COUNT
        for strength in (None, 0.0, 0.5):
            how = {} if strength is None else {"strength": strength}
            for query, (wanted, scores) in zip(exports.queries(), exports.best(index, strength), strict=True):
                found = recipe["query"](client, query, 10, **how)
                assert [each for each, _ in found] == wanted
                np.testing.assert_allclose([score for _, score in found], scores, rtol=1e-4, atol=1e-5)
    stored = store.payloads[8]
    assert stored["title"] == '"ä" 8\n'
    assert stored["tags"] == ('["a","t8"]' if engine == "weaviate" else ["a", "t8"])


def test_refusal_of_the_server_ends_the_script_with_its_words(whole, tmp_path, monkeypatch):
    hubless.export(whole, tmp_path / "out", to="elasticsearch")

    class Refusing(Search):
        def answer(self, method, path, body):
            return (
                {"errors": True, "items": ["mapper says no"]} if "_bulk" in path else super().answer(method, path, body)
            )

    with standing_in(Refusing()) as address:
        monkeypatch.setenv("ELASTICSEARCH_URL", address)
        recipe = exports.script(tmp_path / "out")
        with pytest.raises(SystemExit, match="mapper says no"):
            recipe["load"](recipe["connect"](), False)


@pytest.mark.parametrize(("lost", "share"), [(0, 1.0), (exports.COUNT // 2, 0.5)])
def test_check_says_how_many_of_the_best_the_database_finds(lost, share, whole, tmp_path, monkeypatch, capsys):
    hubless.export(whole, tmp_path / "out", to="elasticsearch")
    np.save(tmp_path / "queries.npy", exports.queries())
    store = Search()
    with standing_in(store) as address:
        monkeypatch.setenv("ELASTICSEARCH_URL", address)
        recipe = exports.script(tmp_path / "out")
        client = recipe["connect"]()
        recipe["load"](client, False)
        del store.ids[:lost], store.vectors[:lost]
        assert recipe["check"](client, exports.queries()) == pytest.approx(share, abs=0.2)
        monkeypatch.setattr(sys, "argv", ["recipe.py", "check", str(tmp_path / "queries.npy")])
        if lost:
            with pytest.raises(SystemExit, match=r"% of the ten best targets are found, expected 99%"):
                recipe["main"]()
        else:
            recipe["main"]()
            assert capsys.readouterr().out == "100.0% of the ten best targets are found\n"
