#!/usr/bin/env bash
# Starts a server in memory in the background, waits until it accepts requests, and hands its address to later steps. action.yml
# sets the environment. The runner ends the server with the job.
set -euo pipefail

directory=${RUNNER_TEMP:?}/stator
mkdir -p "$directory"
log=$directory/stator.log
: >"$log"  # the loop below reads it before the server may have opened it
if [[ -n ${STATOR_ACTION_BINARY:-} ]]; then
  command=("$STATOR_ACTION_BINARY")
else
  npm install --prefix "$directory" --no-audit --no-fund --no-save "stator-local@$STATOR_ACTION_VERSION" >&2
  command=("$directory/node_modules/.bin/stator-local")
fi
read -ra flags <<<"${STATOR_ACTION_FLAGS:-}"
nohup "${command[@]}" serve --in-memory --port "${STATOR_ACTION_PORT:-8000}" "${flags[@]}" >"$log" 2>&1 </dev/null &
server=$!

for ((i = 0; i < 300; i++)); do
  port=$(sed -nE 's/.* serving port=([0-9]+).*/\1/p' "$log" | head -1)
  if [[ -n $port ]]; then break; fi
  if ! kill -0 "$server" 2>/dev/null; then break; fi
  sleep 0.1
done
if [[ -z ${port:-} ]]; then
  echo "::error title=Stator::The server was not ready within 30 seconds; its log follows"
  cat "$log"
  kill "$server" 2>/dev/null || true
  exit 1
fi

endpoint=http://127.0.0.1:$port
{
  echo "endpoint=$endpoint"
  echo "log=$log"
} >>"$GITHUB_OUTPUT"
{
  echo "AWS_ENDPOINT_URL_DYNAMODB=$endpoint"
  echo "AWS_ACCESS_KEY_ID=${AWS_ACCESS_KEY_ID:-any}"
  echo "AWS_SECRET_ACCESS_KEY=${AWS_SECRET_ACCESS_KEY:-any}"
  echo "AWS_DEFAULT_REGION=${AWS_DEFAULT_REGION:-us-east-1}"
} >>"$GITHUB_ENV"
echo "Stator serves at $endpoint (process $server, log $log)"
