#!/bin/sh
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
#
# Keymill over RESP, with redis-cli. Start a server first: ./dev serve
#
#   redis-cli.sh [PORT]     port of the server, 6380 by default

set -eu
port=${1:-6380}

# -e: an error is printed, and ends the script.
ask() { redis-cli -e -p "$port" "$@"; }

echo '# One key of the keyspace "default":'
ask KEYMILL.MINT default

echo '# Three at once:'
ask KEYMILL.MINT default COUNT 3

echo '# What is this key?'
ask KEYMILL.EXPLAIN default "$(ask KEYMILL.MINT default)"

echo '# Which keyspaces are there?'
ask KEYMILL.LIST
