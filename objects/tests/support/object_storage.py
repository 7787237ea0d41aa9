"""An S3 endpoint over HTTP: moto's server, with faults in front of it."""

from contextlib import contextmanager

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from support.answering import answering

BUCKET = "hubless"
ADDRESS = f"s3://{BUCKET}/some/catalog"
VARIABLES = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class Faults:
    """What goes wrong with which requests: the first one that takes a request answers it."""

    def __init__(self, app):
        self._app = app
        self._list = []
        self.asked = []  # method and path of each request that came

    def add(self, fault):
        """Add `fault(method, path, query, respond)`: None lets a request through, else it is the WSGI answer."""
        self._list.append(fault)
        return fault

    def clear(self):
        self._list.clear()
        self.asked.clear()

    def __call__(self, environ, start_response):
        method, path, query = environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("QUERY_STRING", "")
        self.asked.append((method, path))
        for fault in list(self._list):
            answer = fault(method, path, query, lambda: self._app(environ, start_response), start_response)
            if answer is not None:
                return answer
        return self._app(environ, start_response)


class Store:
    """The endpoint: its faults, and the objects as they are, behind the faults."""

    def __init__(self, faults, url):
        self.faults = faults
        self.url = url
        self.variables = VARIABLES | {"AWS_ENDPOINT_URL": self.url}

    def client(self):
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",  # noqa: S106
        )

    def objects(self):
        client = self.client()
        keys = [each["Key"] for each in client.list_objects_v2(Bucket=BUCKET).get("Contents", [])]
        return {key: client.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}

    def put(self, key, content):
        self.client().put_object(Bucket=BUCKET, Key=key, Body=content)

    def put_folder(self, folder, key):
        client = self.client()
        for file in folder.rglob("*"):
            if file.is_file():
                client.put_object(Bucket=BUCKET, Key=f"{key}/{file.relative_to(folder)}", Body=file.read_bytes())

    def empty(self):
        """Begin anew, with an empty bucket and no faults."""
        self.faults.clear()
        client = self.client()
        for bucket in client.list_buckets()["Buckets"]:
            keys = [{"Key": key["Key"]} for key in client.list_objects_v2(Bucket=bucket["Name"]).get("Contents", [])]
            if keys:
                client.delete_objects(Bucket=bucket["Name"], Delete={"Objects": keys})
            client.delete_bucket(Bucket=bucket["Name"])
        client.create_bucket(Bucket=BUCKET)
        self.faults.clear()


@contextmanager
def store():
    faults = Faults(DomainDispatcherApplication(create_backend_app))
    with answering(faults) as url:
        yield Store(faults, url)


def _first(times, wanted, method, answer):
    """A fault of the first requests of a kind."""
    left = [times]

    def fault(asked, path, query, respond, start_response):
        if asked != method or wanted not in path or not left[0]:
            return None
        left[0] -= 1
        return answer(respond, start_response)

    return fault


def failing(times, wanted="", status="500 Internal Server Error", code="InternalError", method="GET"):
    """A fault: the first requests of a kind get an error."""

    def answer(respond, start_response):
        body = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        start_response(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
        # after the answer to a HEAD, a client takes a body for the beginning of the next answer, if it comes in time
        return [] if method == "HEAD" else [body]

    return _first(times, wanted, method, answer)


def truncating(times, wanted):
    """A fault: of the first bodies only the half comes, and then the connection ends."""

    def answer(respond, start_response):
        body = b"".join(respond())
        return [body[: len(body) // 2]]  # the head, with the whole length, is sent already

    return _first(times, wanted, "GET", answer)


def damaging(times, wanted):
    """A fault: the first bodies come whole, with one byte wrong."""

    def answer(respond, start_response):
        body = bytearray(b"".join(respond()))
        body[len(body) // 2] ^= 1
        return [bytes(body)]

    return _first(times, wanted, "GET", answer)


def hanging(event, wanted=""):
    """A fault: requests get no answer until an event."""

    def fault(asked, path, query, respond, start_response):
        if wanted in path:
            event.wait(60)
        return

    return fault


def late_listing():
    """A fault: listings are empty, as if they were late."""

    def fault(asked, path, query, respond, start_response):
        if asked != "GET" or "list-type=2" not in query:
            return None
        body = b"<ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>0</KeyCount></ListBucketResult>"
        start_response("200 OK", [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
        return [body]

    return fault
