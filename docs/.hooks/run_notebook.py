"""Run the notebook of the docs and store what it shows: `make notebook`. It needs what `make setup` installs."""

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

NOTEBOOK = Path(__file__).parents[1] / "notebook.ipynb"
SECONDS = 240
"""The most that a cell may take."""


def run(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Run the cells in order in a process of its own. Warnings are errors.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        if a cell fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        # sockets in the folder in place of ports, which another program could take meanwhile
        kernel = {"transport": "ipc", "ip": f"{folder}/kernel", "connection_file": f"{folder}/kernel.json"}
        client = NotebookClient(notebook, timeout=SECONDS, config=Config(KernelManager=kernel), kernel_name="python3")
        names = ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR")
        warnings = {"PYTHONWARNINGS": "error,ignore::PendingDeprecationWarning"}  # ipykernel has one at its end
        client.execute(env=os.environ | dict.fromkeys(names, folder) | warnings)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
    return notebook


if __name__ == "__main__":
    ran = run(nbformat.read(NOTEBOOK, as_version=4))
    ran.metadata["language_info"] = {"name": "python"}
    nbformat.write(ran, NOTEBOOK)
