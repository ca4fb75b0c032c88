// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Mints keys one after the other, then in pipelines, and writes them to stdout: PORT COUNT.

"use strict";

const Redis = require("ioredis");

const kDepth = 1000;

async function main(port, count) {
  const client = new Redis(port);
  client.on("error", (error) => {
    throw error;
  });
  const keys = [];
  for (let i = 0; i < count; i++) keys.push(await client.call("KEYMILL.MINT", "default"));
  for (let i = 0; i < count; i += kDepth) {
    const pipeline = client.pipeline();
    for (let j = 0; j < kDepth; j++) pipeline.call("KEYMILL.MINT", "default");
    for (const [error, key] of await pipeline.exec()) {
      if (error) throw error;
      keys.push(key);
    }
  }
  process.stdout.write(keys.join("\n") + "\n");
  await client.quit();
}

main(Number(process.argv[2]), Number(process.argv[3]));
