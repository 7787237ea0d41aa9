"""Exit 0 when the service in this container answers that it is ready."""

import http.client
import os
import sys

# Not urllib: it would obey a proxy from the environment.
connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["HUBLESS_PORT"]), timeout=4)
try:
    connection.request("GET", "/readyz")
    status = connection.getresponse().status
except (OSError, http.client.HTTPException) as error:
    sys.exit(f"no answer: {error}")
if status != http.HTTPStatus.OK:
    sys.exit(f"not ready: {status}")
