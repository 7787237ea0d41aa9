"""Which proxy the environment means for an address: the same in the client and in the library."""

VARIABLES = [name for kind in ("http", "https", "all", "no") for name in (f"{kind}_proxy", f"{kind.upper()}_PROXY")]
_BOTH = {"HTTP_PROXY": "http://one.test:1", "HTTPS_PROXY": "two.test:2", "ALL_PROXY": "http://all.test:3"}
_ONE, _TWO = ("HTTP_PROXY", "http://one.test:1"), ("HTTPS_PROXY", "http://two.test:2")

DECISIONS = [
    ("http://hubless.test:8000", {}, None),
    ("http://hubless.test:8000", _BOTH, _ONE),
    ("https://hubless.test", _BOTH, _TWO),
    ("https://hubless.test", {"all_proxy": "http://all.test:3"}, ("all_proxy", "http://all.test:3")),
    ("http://hubless.test", {**_BOTH, "http_proxy": "http://low.test:4"}, ("http_proxy", "http://low.test:4")),
    ("http://hubless.test", {"HTTP_PROXY": ""}, None),
    *[
        (url, _BOTH, None)
        for url in (
            "http://127.0.0.1:8000",
            "http://127.8.9.10",
            "http://[::1]:8000",
            "http://[::ffff:127.0.0.1]",
            "http://0.0.0.0:8000",
            "http://localhost:8000/path",
            "http://LOCALHOST",
            "http://localhost.:8000",
            "https://api.localhost",
        )
    ],
    ("http://notlocalhost", _BOTH, _ONE),
    ("http://128.0.0.1", _BOTH, _ONE),
    *[
        ("http://search.hubless.test:8000", {**_BOTH, "NO_PROXY": exempt}, None)
        for exempt in ("*", "hubless.test", ".hubless.test", "a.test, search.hubless.test", "hubless.test:8000")
    ],
    ("http://search.hubless.test:8000", {**_BOTH, "no_proxy": "other.test,hubless.test:9000"}, _ONE),
    ("http://nothubless.test", {**_BOTH, "no_proxy": "hubless.test"}, _ONE),
    ("http://10.1.2.3:8000", {**_BOTH, "NO_PROXY": "10.0.0.0/8"}, None),
    ("http://10.1.2.3:8000", {**_BOTH, "NO_PROXY": "10.1.2.3"}, None),
    ("http://11.1.2.3:8000", {**_BOTH, "NO_PROXY": "10.0.0.0/8,fd00::/8"}, _ONE),
    ("http://[fd00::5]:8000", {**_BOTH, "NO_PROXY": "fd00::/8"}, None),
]
"""An address, variables, and the variable and the proxy that it is reached by."""


def proxies_set(monkeypatch, environment):
    """Have these variables, and no others about proxies."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
