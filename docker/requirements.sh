#!/bin/sh
# Prints what an image with some extras installs, with hashes: `requirements.sh object-storage,milvus`. Each package once.
set -eu
files=requirements/service.txt
for extra in $(echo "$1" | tr , ' '); do
    file=requirements/image-$extra.txt
    if [ ! -e "$file" ]; then
        known=$(cd requirements && printf '%s\n' image-*.txt | sed 's/^image-//; s/\.txt$//' | paste -s -d , - | sed 's/,/, /g')
        echo "EXTRAS: expected some of $known, got $extra" >&2
        exit 2
    fi
    files="$files $file"
done
# shellcheck disable=SC2086 # the names have no spaces
awk '/^[A-Za-z0-9]/ { new = !seen[$0]++ } new' $files
