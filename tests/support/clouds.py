"""Emulators of Azure Blob Storage and Google Cloud Storage, which `make clouds` installs."""

import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

AZURITE = Path(__file__).parents[2] / ".venv-clouds" / "node_modules" / ".bin" / "azurite-blob"
# Azurite's account, which its documentation publishes
AZURE = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey="
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
    "BlobEndpoint=http://127.0.0.1:{port}/devstoreaccount1;"
)


@contextmanager
def azurite():
    """Variables that lead to a running Azurite."""
    port = free_port()
    command = [AZURITE, "--silent", "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"]
    with subprocess.Popen(
        [*command, "--blobHost", "127.0.0.1", "--blobPort", str(port)], stdout=subprocess.DEVNULL
    ) as process:
        try:
            wait_for(port, process)
            yield {"AZURE_STORAGE_CONNECTION_STRING": AZURE.format(port=port)}
        finally:
            process.terminate()


@contextmanager
def google():
    """Variables that lead to a running gcp-storage-emulator. It gets preconditions, which it lacks."""
    from gcp_storage_emulator import server
    from gcp_storage_emulator.handlers import objects

    upload, one_at_a_time = objects._media_upload, threading.Lock()

    def checked(request, response, storage):
        with one_at_a_time:
            if wanted := request.query.get("ifGenerationMatch"):
                try:
                    there = storage.get_file_obj(request.params["bucket_name"], request.query["name"][0])["generation"]
                except objects.NotFound:
                    there = "0"
                if [there] != wanted:
                    response.status = HTTPStatus.PRECONDITION_FAILED
                    return
            upload(request, response, storage)

    objects._media_upload = checked
    port = free_port()
    running = server.create_server("127.0.0.1", port, in_memory=True)
    running.start()
    try:
        # the other client of gcsfs asks over gRPC for the kind of a bucket; no emulator answers that
        yield {
            "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}",
            "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
            "NO_GCE_CHECK": "true",
        }
    finally:
        running.stop()
        objects._media_upload = upload


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(port, process):
    """Wait until somebody listens; pytest ends what takes too long."""
    while process.poll() is None:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the emulator did not start")
