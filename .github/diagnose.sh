#!/bin/sh
# What the action runs: hubless diagnose with a --set for each line of GATES and SETTINGS, and its answer in OUTPUT.
set -eu
set -- --targets "$TARGETS" --query-bank "$QUERY_BANK"
lines=$(printf '%s\n' "$GATES" | sed '/^ *$/d; s/^ */gates./'; printf '%s\n' "$SETTINGS" | sed '/^ *$/d; s/^ *//')
newline='
'
IFS=$newline
for line in $lines; do
    set -- "$@" --set "$line"
done
exec hubless diagnose "$@" --json >"$OUTPUT"
