"""A real browser on the real service. A violation of the page's policy fails the test, and so does a script's error."""

import shutil
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from support import catalogs
from support.serving import serving, wait_until_ready

import hubless
from hubless_service.app import create_app
from hubless_service.settings import Settings

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


@pytest.fixture
def open_page(browser):
    """Makes pages, each in a profile of its own; at the end none may have violated its policy or failed."""
    contexts, troubles = [], []

    def open_page(address, **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        context.set_default_timeout(1000 * SECONDS)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"{address}: {error}"))
        page.on("console", lambda message: troubles.append(message.text) if is_trouble(message) else None)
        page.expose_function("noteViolation", lambda what: troubles.append(f"violates its policy: {what}"))
        page.add_init_script(
            "addEventListener('securitypolicyviolation', e => noteViolation(`${e.violatedDirective} ${e.blockedURI}`))"
        )
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def is_trouble(message):
    return message.type in ("error", "warning") and not message.text.startswith(EXPECTED)


@pytest.fixture
def visit(open_page, server):
    """Opens a view of the console of the shared server."""

    def visit(collection=None, view="search", /, *, base=server, options=None, **params):
        return open_page(f"{base}/console/{address_of(collection, view, params)}", **(options or {}))

    return visit


def address_of(collection, view, params):
    if collection is None:
        return ""
    query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in params.items())
    return f"#/{quote(collection, safe='')}/{view}?{query}"


@pytest.fixture
def console(tmp_path):
    """A context manager that serves a catalog of its own, with settings; yields the address."""

    @contextmanager
    def console(build=catalogs.build, **settings):
        catalog = tmp_path / "catalog"
        if not catalog.exists():
            build(catalog)
        with serving(create_app(Settings(catalog=catalog, **settings))) as base:
            wait_until_ready(base)
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
