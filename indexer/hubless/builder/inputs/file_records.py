"""Records of the files that a version was built from."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from hubless.encoders import ENCODER_FILE, WORDS_FILE
from hubless.errors import storage_errors
from hubless.store import bundle
from hubless.store.bundle import FileRecord, FileStamp, InputRecord
from hubless.vectors.readers.columns import ID_FILES
from hubless.vectors.readers.several_files import files_below


def files_record(files: Sequence[Path]) -> InputRecord:
    """Return the record of a file, or of a folder."""
    records = []
    for file in files:
        with storage_errors(file):
            records.append(bundle.record_of(file))
    # a manifest is Unicode, the name of a file need not be
    name = os.fsencode(files[0].name if len(files) == 1 else files[0].parent.name).decode("utf-8", "replace")
    return input_record(name, records)


def input_record(name: str, records: Sequence[FileRecord | FileStamp]) -> InputRecord:
    """Return the record of the files of one input, of several by the hash of their hashes."""
    together = hashlib.sha256("".join(record.sha256 for record in records).encode()).hexdigest()
    sha256 = records[0].sha256 if len(records) == 1 else together
    return InputRecord(name=name, size=sum(record.size for record in records), sha256=sha256)


def files_at(path: Path) -> list[Path]:
    """Return the file at a path, or those of an encoder that is a folder, or those that are read in another folder."""
    if not path.is_dir():
        return [path]
    encoder = [path / name for name in (ENCODER_FILE, WORDS_FILE) if (path / name).exists()]
    return encoder or files_below(path, ID_FILES)
