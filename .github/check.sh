#!/usr/bin/env bash
# Runs `proofmark check` for the action in ../action.yml, and keeps its exit code for the last step: the reports are shown and
# kept whatever it is.
#
# Variables: the inputs of the action in capitals, and those of a runner of GitHub.

set -euo pipefail

arguments=()
option() {
    [ -z "$2" ] || arguments+=("$1" "$2")
}
option --target "$TARGET"
option --adapter "$ADAPTER"
option --protocol "$PROTOCOL"
option --level "$LEVEL"
option --profile "$PROFILE"
option --baseline "$BASELINE"
option --seed "$SEED"
option --out "$OUT"
arguments+=(--report "badge-json=$OUT/badge.json")
while IFS= read -r line; do
    [ -z "$line" ] || arguments+=("$line")
done <<<"$MORE"
# After all options, so that a URL can never be one.
[ -z "$URL" ] || arguments+=(-- "$URL")

code=0
proofmark check "${arguments[@]}" || code=$?
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
