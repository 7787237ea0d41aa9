"""Each operation of the contract, with keys of each role, for what is the key's own, another's, or not there."""

import json

import pytest
from support.contract import Contract
from support.serving import serving_catalog

import hubless
from hubless.builder.lifecycle import create
from hubless.search.kept_scores.kept_corrections import KeptCorrections
from hubless_service.settings import ROLES

LIST = {"ids": ["a", "b"], "scores": [2.0, 1.0]}
NAMES = {
    "{collection}": ("apple aprea", "zebra zesty mango"),
    "{alias}": ("aprea", "zebra zesty mango"),
    "{name}": ("apple", "zebra zesty mango"),
    "": ("@", ""),
}
"""By what an operation names: a key's own, and a collection and alias of another, or neither. All are as long."""
SENT = {
    "create_collection": [("{name}", "/v1/collections/@", {})],
    "put_alias": [
        ("{alias}", "/v1/aliases/@", {"collection": "apple"}),
        ("{name}", "/v1/aliases/aprea", {"collection": "@"}),
    ],
    "rerank": [
        ("{collection}", "/v1/rerank", {"lists": [{"collection": "@", "vector": [1.0]}]}),
        ("{name}", "/v1/rerank", {"lists": [{**LIST, "correction": "@"}]}),
    ],
}
"""What names something otherwise than its path says: by what, where, and the body. Other bodies are empty: wrong."""
NAMING = {"create_collection", "put_alias", "put_scores"}
"""They make something of a new name: 403 if it is not in the key's list, whether or not another has it."""


def operations():
    """Give each: its name, the role that it takes, by what it names, method, path and body about `@`."""
    for path, methods in Contract().document["paths"].items():
        for method, about in methods.items():
            name = about["operationId"]
            role = "admin" if "403" in about["responses"] else "read"
            if about["tags"] in (["points"], ["clicks"]) or name == "create_collection":
                role = "write"
            usual = next(part for part in NAMES if part in path)
            where = path.replace(usual or "@", "@").format(id="1", version="none", number="0")
            for by, *request in SENT.get(name, [(usual, where, {})]):
                yield name, role, by, method, *request


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    catalog, file = tmp_path_factory.mktemp("rights"), tmp_path_factory.mktemp("keys") / "keys.json"
    for name, alias in (("apple", "aprea"), ("zebra", "zesty")):
        create(catalog, name, dim=4, metric="cosine", id_type="string")
        hubless.Catalog(catalog).set_alias(alias, name)
        KeptCorrections(catalog).put(name, hubless.ScoreCorrection.fit([LIST]))
    keys = [{"key": f"{role}-0123456789-0123", "role": role, "collections": ["apple"]} for role in ROLES]
    file.write_text(json.dumps({"keys": keys}))
    with serving_catalog(catalog, keys_file=file) as base_url:
        yield base_url


@pytest.mark.parametrize("role", ROLES)
def test_key_opens_what_its_role_and_names_allow_and_all_else_is_as_if_it_were_not_there(base, contract, role):
    with contract.client(base, headers={"X-API-Key": f"{role}-0123456789-0123", "X-Request-ID": "same"}) as http:
        for name, needed, by, *request in operations():
            seen, hidden = map(str.split, NAMES[by])
            for it in () if name == "delete_scores" else seen:  # it would be gone
                answer = ask(http, it, *request)
                code = answer.json()["code"] if answer.is_error else ""
                may = ROLES.index(role) >= ROLES.index(needed) and name != "metrics"  # those are of all collections
                assert (code != "forbidden") == may, (it, request, answer.text)
                assert code or "list" not in name or '"apple"' in answer.text, (request, answer.text)
                assert code not in {"collection_not_found", "alias_not_found", "scores_not_found"}, (it, request)
                assert not any(other in answer.text for other in ("zebra", "zesty")), (it, request, answer.text)
            for headers in ({}, {"If-Match": '"9"'}):
                told = {said(ask(http, it, *request, headers), it) for it in hidden}
                assert len(told) <= 1, (request, told)
                assert name in NAMING or all(status == 404 for status, *_ in told), (request, told)


def ask(http, it, method, path, body, headers=None):
    wrong = {"colour": "red"} if method == "delete" and "collections" in path else None  # or it would be gone
    body = json.loads(json.dumps(body).replace("@", it))
    return http.request(method, path.replace("@", it), json=body, headers=headers, params=wrong)


def said(answer, it):
    """Return all that an answer says, but for the name that was asked for and the time."""
    headers = [header for header in answer.headers.items() if header[0] not in {"date", "server-timing"}]
    return answer.status_code, answer.text.replace(it, "@"), *headers
