#!/usr/bin/env bash
# Tries the image for real: builds a collection on a fresh volume, serves it, asks it, has the job publish a second version
# while it serves, and stops it, with the restrictions of docker-compose.yml.
#
#   docker build --tag hubless . && docker/smoke.sh
#   ENGINE=podman RUN_OPTIONS="--network host" HUBLESS_PORT=8123 docker/smoke.sh localhost/hubless
set -euo pipefail

image=${1:-hubless}
engine=${ENGINE:-docker}
port=${HUBLESS_PORT:-8000}
name=hubless-smoke-$$
read -ra run <<<"run --read-only --cap-drop ALL --security-opt no-new-privileges ${RUN_OPTIONS:-}"
input=$(mktemp -d)
chmod 777 "$input" # the image's user writes here

clean() {
    "$engine" rm --force "$name" >/dev/null 2>&1 || true
    "$engine" volume rm --force "$name" >/dev/null 2>&1 || true
    rm -rf "$input"
}
trap clean EXIT

say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }
inside() { "$engine" exec "$name" "$@"; }

"$engine" volume create "$name" >/dev/null
"$engine" "${run[@]}" --rm --volume "$input:/input" --entrypoint python "$image" -c '
import numpy as np
rng = np.random.default_rng(0)
np.save("/input/targets.npy", rng.normal(size=(5000, 128)).astype("f4"))
np.save("/input/query-bank.npy", (rng.normal(size=(1000, 128)) + 0.3).astype("f4"))'
say "input written"

"$engine" "${run[@]}" --rm --volume "$name:/catalog" --volume "$input:/input:ro" "$image" \
    build --catalog /catalog --collection smoke --targets /input/targets.npy --query-bank /input/query-bank.npy
say "collection built"

code=0
timeout 60 "$engine" "${run[@]}" --rm --volume "$name:/catalog:ro" "$image" 2>/dev/null || code=$?
[ "$code" = 2 ] || fail "without a key the service does not refuse to start, but ends with $code"
say "refused to start without a key"

key=smoke-test-$RANDOM$RANDOM$RANDOM
printf '%s\n' "HUBLESS_READ_KEYS=$key" "HUBLESS_API_KEY=$key" "HUBLESS_PORT=$port" >"$input/hubless.env"
"$engine" "${run[@]}" --detach --name "$name" --volume "$name:/catalog:ro" --env-file "$input/hubless.env" \
    "$image" >/dev/null
until inside python /opt/hubless/healthcheck.py 2>/dev/null; do
    [ "$SECONDS" -lt 120 ] || { "$engine" logs "$name" >&2; fail "not ready"; }
    sleep 0.2
done
say "healthy"

[ "$(inside id -u)" = 10001 ] || fail "runs as $(inside id -u)"
! inside python -c 'open("/opt/hubless/x", "w")' 2>/dev/null || fail "the root can be written"
! inside python -c 'open("/catalog/x", "w")' 2>/dev/null || fail "the service can write the catalog"
! inside python -c 'import hatchling' 2>/dev/null || fail "build tools are in the image"

inside python -c '
import json, os, urllib.request
import numpy as np
port = os.environ["HUBLESS_PORT"]
url = f"http://127.0.0.1:{port}/v1/collections/smoke/query"
body = json.dumps({"vector": np.ones(128).tolist(), "limit": 5, "strength": 0.5}).encode()
key = os.environ["HUBLESS_READ_KEYS"]
request = urllib.request.Request(url, body, {"Content-Type": "application/json", "X-API-Key": key})
hits = json.load(urllib.request.urlopen(request, timeout=10))["hits"]
assert len(hits) == 5, hits
assert all(abs(h["score"] - (h["similarity"] - 0.5 * h["offset"])) < 1e-5 for h in hits), hits
print(json.dumps(hits[0]))'
say "asked over HTTP"

cat >"$input/job.yaml" <<'EOF'
version: 1
collection: smoke
targets: more.parquet
query_bank: query-bank.npy
EOF
"$engine" "${run[@]}" --rm --volume "$input:/input" --entrypoint python "$image" -c '
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
vectors = np.random.default_rng(1).normal(size=(100, 128)).astype("f4")
table = {"id": np.arange(5000, 5100), "vector": pa.array(vectors.tolist(), pa.list_(pa.float32()))}
pq.write_table(pa.table(table), "/input/more.parquet")'
# as docker-compose.yml runs it, on the network of the service
network=(--network "container:$name")
[[ ${RUN_OPTIONS:-} == *--network* ]] && network=()
"$engine" "${run[@]}" ${network[@]+"${network[@]}"} --rm --volume "$name:/catalog" --volume "$input:/input:ro" \
    --env-file "$input/hubless.env" --entrypoint hubless "$image" \
    reindex --catalog /catalog /input/job.yaml --set "wait_for=http://127.0.0.1:$port"
say "the job published a second version, and the service has switched to it"

inside python -c '
import json, os, urllib.request
port, key = os.environ["HUBLESS_PORT"], os.environ["HUBLESS_READ_KEYS"]
request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/collections/smoke", headers={"X-API-Key": key})
found = json.load(urllib.request.urlopen(request, timeout=10))
assert found["count"] == 5100, found
assert len(found["versions"]) == 2, found["versions"]
print(found["version"])'
say "the service serves it"

start=$SECONDS
"$engine" stop --time 30 "$name" >/dev/null
[ $((SECONDS - start)) -lt 10 ] || fail "did not obey SIGTERM"
code=$("$engine" inspect --format '{{.State.ExitCode}}' "$name")
[ "$code" = 0 ] || fail "exit code $code after SIGTERM"
say "stopped by SIGTERM"
