"""A real browser on the real service. A violation of the page's policy fails the test, and so does a script's error."""

import shutil
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from support import catalogs
from support.serving import serving_catalog

import hubless

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
SECONDS = 15
# what a browser says of answers that the test wants, such as 401
EXPECTED = ("Failed to load resource",)


# of a module, because Playwright runs an event loop for as long as it is open, and other tests have their own
@pytest.fixture(scope="module")
def browser():
    if not BROWSER:
        pytest.skip("needs chromium (apt-get install chromium)")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * SECONDS)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def profile(browser):
    """A profile of the browser, and what its pages did that they must not. Its cache makes the next page quicker."""
    troubles = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(1000 * SECONDS)
    context.on("weberror", lambda error: troubles.append(f"{error.page and error.page.url}: {error.error}"))
    context.on("console", lambda message: troubles.append(message.text) if is_trouble(message) else None)
    context.on(
        "request", lambda request: troubles.append(f"asks as people do: {request.url}") if is_asked(request) else None
    )
    context.expose_function("noteViolation", lambda what: troubles.append(f"violates its policy: {what}"))
    context.add_init_script(
        "addEventListener('securitypolicyviolation', e => noteViolation(`${e.violatedDirective} ${e.blockedURI}`))"
    )
    yield context, troubles
    context.close()


@pytest.fixture
def open_page(profile):
    """Makes pages, each with a session of its own; at the end none may have violated its policy or failed."""
    context, troubles = profile
    pages = []

    def open_page(address):
        page = context.new_page()
        pages.append(page)
        page.goto(address)
        return page

    yield open_page
    for page in pages:
        page.close()
    found, troubles[:] = troubles[:], []
    assert found == []


def is_asked(request):
    """Whether a request of the console could count as what people ask."""
    return "/v1/" in request.url and request.headers.get("x-no-sample") != "1"


def is_trouble(message):
    return message.type in ("error", "warning") and not message.text.startswith(EXPECTED)


@pytest.fixture
def visit(open_page, server):

    def visit(collection=None, view="search", /, *, base=server, **params):
        query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in params.items())
        return open_page(f"{base}/console/" + (f"#/{quote(collection, safe='')}/{view}?{query}" if collection else ""))

    return visit


@pytest.fixture
def console(tmp_path):
    """A context manager that serves a catalog of its own, with settings; yields the address."""

    @contextmanager
    def console(build=catalogs.build, **settings):
        catalog = tmp_path / "catalog"
        if not catalog.exists():
            build(catalog)
        with serving_catalog(catalog, **settings) as base:
            yield base

    return console


@pytest.fixture
def hostile():
    """Builds a collection whose payload, ids and column names would be markup, scripts or addresses of them."""

    def build(path):
        data = catalogs.words()
        nasty = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
        rows = [
            {
                "title": f"{nasty} {i}",
                "link": "javascript:document.title='broken'",
                "image": "javascript:document.title='broken'",
                "photo": "http://127.0.0.1:9/x.png",
                "a,b": '"; drop',
            }
            for i in range(catalogs.COUNT)
        ]
        ids = [f"{nasty}{i}" for i in range(catalogs.COUNT)]
        hubless.build(
            path,
            "words",
            data.targets,
            data.query_bank,
            ids=ids,
            payload=rows,
            encoder=catalogs.encoder(),
            progress=False,
        )

    return build
