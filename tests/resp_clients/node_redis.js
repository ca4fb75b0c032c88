// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Mints keys one after the other, then in pipelines, and writes them to stdout: PORT COUNT.

"use strict";

const { createClient } = require("redis");

const kDepth = 1000;

async function main(port, count) {
  const client = createClient({ socket: { host: "127.0.0.1", port } });
  client.on("error", (error) => {
    throw error;
  });
  await client.connect();
  const mint = () => client.sendCommand(["KEYMILL.MINT", "default"]);
  const keys = [];
  for (let i = 0; i < count; i++) keys.push(await mint());
  for (let i = 0; i < count; i += kDepth) {
    keys.push(...(await Promise.all(Array.from({ length: kDepth }, mint))));
  }
  process.stdout.write(keys.join("\n") + "\n");
  await client.close();
}

main(Number(process.argv[2]), Number(process.argv[3]));
