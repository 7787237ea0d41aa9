"""Checks at the start the encoders that a setting describes, before a text needs them."""

import logging

import hubless
from hubless.errors import HublessError, InputError
from hubless.search.opening import read_encoder
from hubless.store.bundle import read_manifest
from hubless_service.settings import Settings

log = logging.getLogger("hubless.encoders")

VARIABLE = "HUBLESS_ENCODERS"


def check_encoders(settings: Settings) -> None:
    """Make the encoder of each collection that `settings.encoders` names, as for serving it."""
    if settings.address is not None:  # of what is there, opening says it
        return
    catalog = hubless.Catalog(settings.folder)
    there = catalog.collections()
    for name, changes in settings.encoders.items():
        if name not in there:
            log.warning('%s describes the encoder of "%s": there is no such collection', VARIABLE, name)
            continue
        try:
            folder = catalog.folder(name)
            manifest = read_manifest(folder)
        except HublessError:
            continue  # opening it says what is wrong with it
        if not manifest.encoder and "type" not in changes:
            raise InputError(f"{VARIABLE}, {name}.type", "that of an encoder, as the collection has none", "none")
        try:
            if encoder := read_encoder(folder, manifest, changes):
                encoder.check()
        except InputError as error:
            # the library names the encoder, or its file, before the field
            field = error.parameter.rpartition(", ")[2]
            raise InputError(f"{VARIABLE}, {name}.{field}", error.expected, error.received) from error
