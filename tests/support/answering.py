"""A WSGI app on a loopback socket: the peers that hubless asks."""

import threading
from contextlib import contextmanager

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response


class _Silent(WSGIRequestHandler):
    def log(self, *_):
        pass


@contextmanager
def answering(app):
    """The address of an app that answers until the block ends."""
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Silent)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def statuses(status_of):
    """An app whose answers are a status and nothing else, by the request."""
    return Request.application(lambda request: Response(status=status_of(request)))
