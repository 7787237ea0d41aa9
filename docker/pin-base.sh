#!/usr/bin/env bash
# Pins the base image of the Dockerfile by digest, as the registry has it now. Needs docker and a network.
#
#   docker/pin-base.sh [Dockerfile]      run it again to take a newer image of the same name
set -euo pipefail

file=${1:-Dockerfile}
base=$(sed -nE '/^FROM scratch/d; s/^FROM ([^@ ]+).*/\1/p' "$file" | sort -u)
[ "$(wc -l <<<"$base")" = 1 ] || { echo "$file: expected one base image, got" $base >&2; exit 1; }
digest=$(docker buildx imagetools inspect "$base" --format '{{.Manifest.Digest}}')
[[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || { echo "$base: expected a digest sha256:…, got $digest" >&2; exit 1; }
sed -i.old -E "/^FROM scratch/! s|^FROM [^ ]+|FROM $base@$digest|" "$file"
rm "$file.old"
echo "$file: FROM $base@$digest"
