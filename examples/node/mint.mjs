// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys over HTTP, with nothing but Node's own library.
//
//   node mint.mjs [URL [COUNT]]     prints COUNT keys of the keyspace "default"

export async function mint(server, keyspace, count) {
  const url = new URL(`/v1/keyspaces/${keyspace}/keys?count=${count}`, server);
  const answer = await fetch(url, { method: "POST", signal: AbortSignal.timeout(10_000) });
  const body = await answer.json();
  if (!answer.ok) throw new Error(`${body.type}: ${body.detail}`);
  return body.keys; // Always strings: a number of 64 bits would lose its last digits here.
}

const [server = "http://127.0.0.1:8080", count = "3"] = process.argv.slice(2);
console.log((await mint(server, "default", Number(count))).join("\n"));
