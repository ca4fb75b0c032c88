#!/bin/bash
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
#
# A bare Debian 12 with git, curl and CA certificates, a clone, and one command: `./dev serve`
# answers with a key, and `./dev test` passes. Nothing else is done by hand.
#
# Needs root, because of debootstrap and chroot, and about 20 minutes. What is committed is
# what is cloned. Packages come from where this machine gets its own. Mounts and processes
# live in namespaces of their own, so that nothing is left of them, however this ends.

set -euo pipefail

name=bare-debian
self=$(readlink -f -- "${BASH_SOURCE[0]}")
repository=$(readlink -f -- "$(dirname -- "$self")/../..")
suite=bookworm

if [[ ${1:-} != --inside ]]; then
  if ((EUID != 0)); then
    echo "$name: FAIL needs root: sudo ./dev prove $name"
    exit 1
  fi
  if ! command -v debootstrap >/dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends debootstrap
  fi
  folder=$(mktemp -d "${TMPDIR:-/var/tmp}/keymill-$name-XXXXXX")
  trap 'rm -rf --one-file-system "$folder"' EXIT
  code=0
  unshare --mount --propagation private --pid --fork --kill-child \
    bash "$self" --inside "$folder" || code=$?
  exit "$code"
fi

folder=$2
debian=$folder/root
began=$SECONDS
step_began=$SECONDS
figures=''

finish() {
  local code=$?
  ((code == 0)) || echo "$name: FAIL after $((SECONDS - began)) s; ${figures:-nothing was done}"
}
trap finish EXIT

# step WHAT: says how long it took.
step() {
  local seconds=$((SECONDS - step_began))
  step_began=$SECONDS
  printf '  ok    %4d s  %s\n' "$seconds" "$1"
  figures+="${figures:+, }$1 $seconds s"
}

fail() {
  printf '  FAIL         %s\n' "$1"
  exit 1
}

# What runs a command in the bare Debian, with nothing of this machine's environment but the
# way to the packages.
debian_runs=(chroot "$debian" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
  LANG=C.UTF-8)
for variable in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
  if [[ -n ${!variable:-} ]]; then debian_runs+=("$variable=${!variable}"); fi
done
in_debian() { "${debian_runs[@]}" "$@"; }

# Every Debian archive that this machine uses: "URI RELEASE COMPONENT" lines.
archives() {
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
    'Origin: Debian' | sort -u | awk -v suite="$suite" '$3 == "main" && $2 ~ "^" suite'
}

set_up_packages() {
  archives | awk '{print "deb", $1, $2, $3}' >"$debian/etc/apt/sources.list"
  apt-config dump | grep -iE '^Acquire::[a-z]+::(Proxy|CAInfo)' \
    >"$debian/etc/apt/apt.conf.d/90machine" || true
  cp /etc/resolv.conf /etc/hosts "$debian/etc/"
  if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
    cp /usr/local/share/ca-certificates/*.crt "$debian/usr/local/share/ca-certificates/"
    in_debian update-ca-certificates >/dev/null 2>&1
  fi
}

mirror=$(archives | awk -v suite="$suite" '$2 == suite {print $1; exit}')
[[ -n $mirror ]] || fail "this machine's apt knows no archive of Debian $suite; apt-get update?"
debootstrap --variant=minbase --include=git,curl,ca-certificates "$suite" "$debian" "$mirror" \
  >"$folder/debootstrap.log" 2>&1 || {
  tail -n 20 "$folder/debootstrap.log"
  fail "debootstrap"
}
set_up_packages
mount -t proc proc "$debian/proc"
mount --rbind /dev "$debian/dev"
step "a bare Debian $(cat "$debian/etc/debian_version")"

git -c safe.directory='*' clone --quiet --bare --no-local "$repository" "$debian/srv/keymill.git"
in_debian git clone --quiet /srv/keymill.git /root/keymill
commit=$(in_debian git -C /root/keymill rev-parse --short HEAD)
if [[ -n $(git -c safe.directory='*' -C "$repository" status --porcelain) ]]; then
  echo "        the work tree differs from commit $commit, which is what is cloned"
fi
step "a clone of $commit"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
# Not through the function: $! must be the server itself.
"${debian_runs[@]}" PORT="$port" sh -c 'cd /root && exec keymill/dev serve' \
  >"$folder/serve.log" 2>&1 &
server=$!
until key=$(in_debian curl -fsS --noproxy '*' "localhost:$port/get-key" 2>/dev/null); do
  if ! kill -0 "$server" 2>/dev/null || ((SECONDS - step_began > 3600)); then
    tail -n 40 "$folder/serve.log"
    fail "./dev serve"
  fi
  sleep 1
done
[[ ${#key} == 7 ]] || fail "GET /get-key gave “$key”, not 7 bytes"
step "./dev serve and a key of ${#key} bytes, $key"
kill -TERM "$server"
wait "$server" || fail "the server stops with exit code $?"

if ! in_debian sh -c 'cd /root/keymill && ./dev test' >"$folder/test.log" 2>&1; then
  tail -n 80 "$folder/test.log"
  fail "./dev test"
fi
summary=$(grep -E '[0-9]+% tests passed' "$folder/test.log" | tail -n 1)
[[ $summary == 100%* ]] || fail "./dev test: ${summary:-no summary}"
step "./dev test"
printf '               %s\n' "$summary"
echo "$name: PASS $figures; $summary"
