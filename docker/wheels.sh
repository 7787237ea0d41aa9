#!/bin/sh
# Builds the wheels of an image with some extras, ours and those of the rings: `wheels.sh object-storage,milvus FOLDER`.
# Which ring is behind an extra says pyproject.toml.
set -eu
rings="databases encoders lab"
for extra in $(echo "$1" | tr , ' '); do
    rings="$rings $(sed -n "s/^$extra = \[\"hubless-\([a-z]*\).*/\1/p" pyproject.toml)"
done
for ring in . $rings; do
    [ -d "$ring" ] || ring=engines/$ring
    (cd "$ring" && "${PYTHON:-python}" -m hatchling build -t wheel -d "$2")
done
