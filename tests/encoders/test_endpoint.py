import contextlib
import threading
from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageColor
from support import catalogs
from support.dripping import DRIPS, HANDSHAKE, dripping
from support.embeddings import data, embeddings, right
from support.photos import solid

from hubless.encoders import load_encoder
from hubless.encoders.endpoint import Breaker
from hubless.errors import EncoderFailed, EncoderTimeout, InputError, NoEncoder, TextRefused

DIM = catalogs.DIM
TEXTS = ["amber birch", "cedar", "delta ember"]


@pytest.fixture
def server():
    with embeddings() as server:
        yield server


@pytest.fixture
def encoder(server, tmp_path):
    return lambda **more: load_encoder(tmp_path, DIM, server.describe(**more))


def test_vectors_are_those_of_the_endpoint_in_the_order_of_the_texts(server, encoder):
    np.testing.assert_allclose(encoder().encode(TEXTS), catalogs.encoder().encode(TEXTS), atol=1e-6)
    assert server.asked == [("/v1/embeddings", {"model": "words", "input": TEXTS})]


def test_texts_are_sent_in_calls_of_a_batch_and_each_once(server, encoder):
    texts = [*TEXTS, "amber birch", "fjord"]
    found = encoder(batch=3).encode(texts)
    np.testing.assert_allclose(found, catalogs.encoder().encode(texts), atol=1e-6)
    assert [body["input"] for _, body in server.asked] == [TEXTS, ["fjord"]]


def test_recent_texts_are_not_asked_for_again_and_the_oldest_are_forgotten(server, encoder):
    asking = encoder(cache=2)
    for text in ("amber", "birch", "amber", "cedar", "amber", "birch"):
        asking.encode([text])
    assert [body["input"] for _, body in server.asked] == [["amber"], ["birch"], ["cedar"], ["birch"]]


def test_key_comes_from_the_environment_and_stands_in_the_header_alone(server, encoder, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("WORDS_KEY", "hidden-key\n")
    asking = encoder(api_key_env="WORDS_KEY")
    with caplog.at_level("DEBUG"):
        asking.encode(["amber"])
        server.answer = lambda body: (401, b"hidden-key is wrong")
        with pytest.raises(EncoderFailed) as caught:
            asking.encode(["birch"])
    asking.save(tmp_path)
    assert server.headers[0]["Authorization"] == "Bearer hidden-key"
    assert "hidden-key" not in str(server.asked) + caplog.text + str(caught.value)
    assert "hidden-key" not in (tmp_path / "encoder.json").read_text()


def test_without_a_key_no_header_is_sent_and_without_its_variable_nothing_is(server, encoder, monkeypatch):
    monkeypatch.delenv("WORDS_KEY", raising=False)
    encoder().encode(["amber"])
    assert "Authorization" not in server.headers[0]
    with pytest.raises(EncoderFailed, match="the environment variable WORDS_KEY with its key is not set"):
        encoder(api_key_env="WORDS_KEY").encode(["amber"])
    assert len(server.asked) == 1


ONE = [1.0] * DIM


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (b"<html>", "not JSON of one embedding for each text"),
        ({"data": [{"embedding": ONE}]}, "not JSON of one embedding for each text"),
        ({"data": [{"index": 1, "embedding": ONE}]}, "not JSON of one embedding for each text"),
        (data(), "not JSON of one embedding for each text"),
        (data(ONE, ONE), "answered with 2 embeddings to 1 texts"),
        (data(ONE[1:]), f"{DIM - 1} dimensions, the collection has {DIM}"),
        (data("abcd"), "something else than vectors"),
        (data([*ONE[1:], None]), "not finite"),
        (data([*ONE[1:], float("nan")]), "not finite"),
        (data([*ONE[1:], 1e300]), "not finite"),
        (data([0.0] * DIM), "a vector of length zero"),
        (b" " * 2**21, "more than"),
    ],
)
def test_answer_that_is_no_sound_vectors_fails(server, encoder, document, problem):
    server.answer = lambda body: (200, document)
    with pytest.raises(EncoderFailed, match=problem):
        encoder().encode(["amber"])


def test_failure_that_passes_is_retried(server, encoder):
    answers = iter([(503, {}), (500, {})])
    server.answer = lambda body: next(answers, None) or right(body)
    assert encoder(retries=2).encode(["amber"]).shape == (1, DIM)
    assert len(server.asked) == 3


def test_text_that_is_refused_is_not_sent_again_and_does_not_open_the_breaker(server, encoder):
    server.answer = lambda body: (400, {})
    asking = encoder(retries=2, breaker_failures=1)
    for _ in range(3):
        with pytest.raises(TextRefused, match="status 400"):
            asking.encode(["amber"])
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"error": {"message": "too\n long\x00", "param": "input"}}, ', "too long"'),
        ({"error": {"message": "too long", "param": None}}, ', "too long"'),
        ({"error": {"message": "words is not found", "param": "None"}}, ', "words is not found"'),
        ({"message": "This model does not take 600 tokens"}, ', "This model does not take 600 tokens"'),
        ({"error": "at most 512 tokens", "error_type": "Validation"}, ', "at most 512 tokens"'),
        ({"object": "error", "message": "too long"}, ', "too long"'),
        ({"detail": "too long"}, ', "too long"'),
        ({"detail": [{"loc": ["input"]}]}, ""),
        (["too long"], ""),
        (b"<html>too long", ""),
        (b"[" * 10_000, ""),
        ({"error": "x" * 10_000}, f', "{"x" * 200}…"'),
        ({"error": "x" * 100_000}, ""),
    ],
)
@pytest.mark.parametrize("status", [400, 413, 422])
def test_refused_text_is_told_with_what_the_endpoint_says_in_short(server, encoder, status, document, said):
    server.answer = lambda body: (status, document)
    with pytest.raises(TextRefused) as caught:
        encoder().encode(["amber"])
    assert (
        str(caught.value) == f"text: expected one that the collection's encoder takes, got status {status} of it{said}"
    )


def test_what_the_endpoint_says_is_quoted_without_its_key_and_address(server, encoder, monkeypatch):
    monkeypatch.setenv("WORDS_KEY", "hidden-key")
    server.answer = lambda body: (400, {"error": f"hidden-key at {server.url}/embeddings: too long"})
    with pytest.raises(TextRefused, match='"… at …/embeddings: too long"'):
        encoder(api_key_env="WORDS_KEY").encode(["amber"])


OF_THE_OPERATOR = {
    "OpenAI, a field": ({"message": "not supported", "param": "dimensions", "code": None}, "dimensions"),
    "OpenAI, a code": ({"message": "gone", "param": None, "code": "model_not_found"}, "model"),
    "OpenAI, words": ({"message": "invalid model ID", "param": None, "code": None}, "model"),
    "Mistral": ({"message": "Invalid model: words", "type": "invalid_model", "code": "1500"}, "model"),
    "LiteLLM": ({"message": "Invalid model name passed in model=words", "param": "None", "code": "400"}, "model"),
    "Infinity": ({"message": "Invalid model: words", "code": 400}, "model"),
    "Infinity, a task": ({"message": "ModelNotDeployedError: model=`words` does not support `embed`."}, "model"),
    "vLLM": ({"message": "Model does not support matryoshka representation", "type": "BadRequestError"}, "model"),
    "Ollama": ('model "words" not found, try pulling it first', "model"),
    "Azure": ({"message": "The embeddings operation does not work with the specified model, words."}, "model"),
}


@pytest.mark.parametrize("kind", OF_THE_OPERATOR)
def test_refusal_for_another_cause_than_the_text_is_a_failure(server, encoder, kind):
    error, field = OF_THE_OPERATOR[kind]
    server.answer = lambda body: (400, {"error": error})
    with pytest.raises(EncoderFailed, match=f'status 400 about {field}, "'):
        encoder(retries=2).encode(["amber"])
    assert len(server.asked) == 1


@pytest.mark.parametrize(("status", "look"), [(401, "api_key_env"), (403, "api_key_env"), (404, "url and model")])
def test_wrong_description_is_not_retried_and_told_with_where_to_look(server, encoder, status, look):
    server.answer = lambda body: (status, {"error": "no"})
    with pytest.raises(EncoderFailed, match=f"status {status}: .*look at {look}"):
        encoder(retries=2).encode(["amber"])
    assert len(server.asked) == 1


def test_endpoint_that_is_down_fails(encoder, server):
    asking = encoder(url="http://127.0.0.1:9/v1")
    with pytest.raises(EncoderFailed, match="cannot be reached"):
        asking.encode(["amber"])


@pytest.fixture
def no_proxies(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_endpoint_elsewhere_is_asked_by_the_proxy_of_the_environment(server, encoder, no_proxies, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", server.url.removesuffix("/v1"))
    assert encoder(url="http://embed.example/v1").encode(["amber"]).shape == (1, DIM)
    assert server.asked[0][0] == "http://embed.example/v1/embeddings"


def test_endpoint_that_is_slow_times_out(server, encoder):
    going = threading.Event()
    server.answer = lambda body: (going.wait(20), right(body))[1]
    asking = encoder(timeout=0.05)
    with pytest.raises(EncoderTimeout, match="did not answer in time"):
        asking.encode(["amber"])
    going.set()


@pytest.mark.parametrize("what", DRIPS)
def test_endpoint_that_drips_times_out(encoder, what):
    with dripping(*DRIPS[what]) as peer, pytest.raises(EncoderTimeout, match="did not answer in time"):
        encoder(url=f"http://{peer}/v1", timeout=0.2, retries=2).encode(["amber"])


def test_handshake_that_drips_times_out(encoder):
    with dripping(*HANDSHAKE) as peer, pytest.raises(EncoderTimeout, match="did not answer in time"):
        encoder(url=f"https://{peer}/v1", timeout=0.2).encode(["amber"])


@pytest.mark.parametrize("what", ["a status line", "headers"])
def test_proxy_that_drips_times_out(encoder, no_proxies, monkeypatch, what):
    with dripping(*DRIPS[what]) as peer:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{peer}")
        with pytest.raises(EncoderTimeout, match="did not answer in time"):
            encoder(url="https://embed.example/v1", timeout=0.2).encode(["amber"])


def test_breaker_leaves_a_failing_endpoint_alone_and_tries_it_again(server, encoder, caplog):
    asking = encoder(breaker_failures=2, breaker_seconds=0.2)
    asking.encode(["cedar"])
    server.answer = lambda body: (500, {})
    for _ in range(2):
        with pytest.raises(EncoderFailed, match="status 500"):
            asking.encode(["amber"])
    server.answer = right
    with pytest.raises(EncoderFailed, match="left alone"):
        asking.encode(["amber"])
    assert asking.encode(["cedar"]).shape == (1, DIM)  # which is known
    assert len(server.asked) == 3
    while len(server.asked) == 3:
        with contextlib.suppress(EncoderFailed):
            asking.encode(["amber"])
    assert asking.encode(["amber"]).shape == (1, DIM)
    assert len(server.asked) == 4
    assert "is left alone for a while" in caplog.text


def test_breaker_lets_one_call_through_when_its_time_is_over():
    now = 0.0
    breaker = Breaker(2, 10, lambda: now)
    assert (breaker.failed(), breaker.allows(), breaker.failed(), breaker.allows()) == (False, True, True, False)
    now = 9.9
    assert not breaker.allows()
    now = 10.0
    assert (breaker.allows(), breaker.allows()) == (True, False)
    assert not breaker.failed()
    now = 19.9
    assert not breaker.allows()
    now = 20.0
    assert breaker.allows()
    assert breaker.succeeded()
    assert (breaker.allows(), breaker.allows(), breaker.failed()) == (True, True, False)


FIELDS = (
    "type, dim, url, model, dimensions, api_key_env, timeout, retries, connections, batch, cache, pictures, "
    "breaker_failures, breaker_seconds"
)
OWN = "expected a variable of the encoder's own"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"api_key": "hidden"}, f"api_key: expected one of {FIELDS}, got an unknown field; did you mean api_key_env?"),
        ({"xyz": "hidden"}, f"xyz: expected one of {FIELDS}, got an unknown field"),
        ({"url": "ftp://host/v1"}, "url: expected http:// or https://, a host and a path, got str"),
        ({"url": "http://u:hidden@h/v1"}, "url: expected no password in it: name a variable in api_key_env, got str"),
        ({"api_key_env": "HUBLESS_ADMIN_KEYS"}, f"api_key_env: {OWN}, the service's hold its keys, got str"),
        ({"model": {"hidden": 1}}, "model: expected a valid string, got dict"),
        ({"retries": "hidden"}, "retries: expected a valid integer, unable to parse string as an integer, got str"),
        ({"timeout": float("nan")}, "timeout: expected greater than 0, got nan"),
    ],
)
def test_wrong_description_is_refused_naming_the_field_and_no_secret(encoder, fields, problem):
    with pytest.raises(InputError) as caught:
        encoder(**fields)
    assert str(caught.value) == f"encoder, {problem}"


def test_fields_are_replaced_and_another_type_replaces_all(server, encoder, tmp_path):
    encoder().save(tmp_path)
    changed = load_encoder(tmp_path, DIM, {"url": "http://staging/v1"}).description
    assert (changed.url, changed.model) == ("http://staging/v1", "words")
    other = load_encoder(tmp_path, DIM, {"type": "sentence-transformers", "model": "other"}).description
    assert (other.model, other.prompt) == ("other", None)


COLOURS = ["red", "lime", "blue", "white", "black", "gray", "navy", "teal", "olive"]


def seen(body):
    """Answers to pictures with the number of each among COLOURS."""
    assert body.get("modality", "image") == "image"
    given = [each["image"] if isinstance(each, dict) else each.partition(",")[2] for each in body["input"]]
    pixels = [Image.open(BytesIO(b64decode(each))).convert("RGB").getpixel((0, 0)) for each in given]
    known = {ImageColor.getrgb(colour): number for number, colour in enumerate(COLOURS)}
    return 200, data(*([1.0 + known[pixel]] + [1.0] * (DIM - 1) for pixel in pixels))


@pytest.mark.parametrize("form", ["jina", "infinity"])
def test_pictures_are_sent_as_they_are_in_the_form_of_the_endpoint_and_in_small_calls(server, encoder, form, tmp_path):
    server.answer = seen
    asking = encoder(pictures=form)
    asking.check_pictures()
    path = tmp_path / "first.png"
    path.write_bytes(solid(COLOURS[0]))
    inputs = [asking.picture_input(each) for each in [path, *map(solid, COLOURS[1:])]]
    np.testing.assert_array_equal(asking.encode_pictures(inputs, 20)[:, 0], np.arange(1, 10))
    assert [len(body["input"]) for _, body in server.asked] == [8, 1]
    assert asking.encode_pictures([]).shape == (0, DIM)


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "GIF"])
def test_infinity_is_told_what_kind_of_picture_it_is(encoder, format):
    data_url = encoder(pictures="infinity").picture_input(solid("red", format))
    assert data_url.startswith(f"data:image/{format.lower()};base64,")
    assert b64decode(data_url.partition(",")[2]) == solid("red", format)


def test_endpoint_takes_pictures_only_if_its_description_says_so(encoder):
    asking = encoder()
    for ask in (asking.check_pictures, lambda: asking.picture_input(b""), lambda: asking.encode_pictures([])):
        with pytest.raises(NoEncoder, match="an endpoint whose description has no field pictures"):
            ask()
    with pytest.raises(InputError, match="image: expected a picture as JPEG"):
        encoder(pictures="jina").picture_input(b"<svg/>", "image")


def test_picture_that_the_endpoint_refuses_is_named_as_one(server, encoder):
    server.answer = lambda body: (422, {"error": {"message": "too small"}})
    asking = encoder(pictures="jina")
    with pytest.raises(TextRefused, match=r'picture: expected one that .* takes, got status 422 of it, "too small"'):
        asking.encode_pictures([asking.picture_input(solid("red"))])
