// What `sluice mcp` replies to lines that are not requests, on its real stdin and stdout. No server is needed for that.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";

import { BINARY } from "./server.mjs";

const INITIALIZE = {
  jsonrpc: "2.0", id: 1, method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

test("a line that is not JSON or not a request gets an error, and the next request is answered", async () => {
  const env = { PATH: process.env.PATH, HOME: "/nonexistent", SLUICE_SERVER: "http://127.0.0.1:9", SLUICE_TOKEN: "token-that-no-server-knows" };
  const child = spawn(BINARY, ["mcp"], { env, stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "close");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const reply = async (line) => {
    child.stdin.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
    const { value, done } = await lines.next();
    assert.ok(!done, `no reply to ${JSON.stringify(line)}`);
    return JSON.parse(value);
  };
  const refused = async (line) => {
    const { jsonrpc, id, error, ...more } = await reply(line);
    assert.deepEqual([jsonrpc, more], ["2.0", {}]);
    assert.ok(error.message);
    return [error.code, id];
  };
  const notRequests = async () => {
    assert.deepEqual(await refused("this is not JSON"), [-32700, undefined]);
    assert.deepEqual(await refused('{"jsonrpc":"2.0","id":7,'), [-32700, undefined]);
    assert.deepEqual(await refused("42"), [-32600, undefined]);
    assert.deepEqual(await refused([INITIALIZE]), [-32600, undefined]);
    assert.deepEqual(await refused({ id: "a", method: "ping" }), [-32600, "a"]);
  };
  await notRequests();
  assert.equal((await reply(INITIALIZE)).result.serverInfo.name, "sluice");
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  await notRequests();
  const { id, result } = await reply({ jsonrpc: "2.0", id: 2, method: "tools/list" });
  assert.equal(id, 2);
  assert.ok(result.tools.length > 0);
  child.stdin.end();
  assert.deepEqual(await ended, [0, null]);
});
