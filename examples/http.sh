#!/bin/sh
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
#
# Keymill over HTTP, with curl. Start a server first: ./dev serve
#
#   http.sh [URL]     URL of the server, http://127.0.0.1:8080 by default

set -eu
server=${1:-http://127.0.0.1:8080}

# --fail-with-body: a problem is printed, and ends the script.
ask() { curl --silent --show-error --fail-with-body --max-time 10 "$@"; }

echo '# One key of the keyspace "default", bare:'
ask "$server/get-key"
echo

echo '# A keyspace of order numbers. Saying it again changes nothing:'
ask -X PUT "$server/v1/keyspaces/orders" -H 'Content-Type: application/json' \
  -d '{"kind": "sequence", "alphabet": "decimal", "prefix": "ord_", "length": 8}'

echo '# Three of them, as JSON:'
ask -X POST "$server/v1/keyspaces/orders/keys?count=3"

echo '# Five more, one per line:'
ask -X POST -H 'Accept: text/plain' "$server/v1/keyspaces/orders/keys?count=5"

echo '# What is this key?'
key=$(ask -X POST -H 'Accept: text/plain' "$server/v1/keyspaces/orders/keys?count=1")
ask "$server/v1/keyspaces/orders/keys/$key"
