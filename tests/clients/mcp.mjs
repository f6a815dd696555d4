// The official client of the Model Context Protocol, connected to `sluice mcp`.

import assert from "node:assert/strict";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

import { BINARY } from "./server.mjs";

/** Starts `sluice mcp` for a server and a token. `seen` is everything that it wrote, on stderr and in replies. */
export async function connect(url, token, args = []) {
  const transport = new StdioClientTransport({
    command: BINARY,
    args: ["mcp", ...args],
    env: { PATH: process.env.PATH, HOME: "/nonexistent", SLUICE_SERVER: url, SLUICE_TOKEN: token },
    stderr: "pipe",
  });
  const assistant = new Assistant(new Client({ name: "sluice-tests", version: "1.0.0" }));
  transport.stderr.on("data", (chunk) => assistant.seen.push(String(chunk)));
  await assistant.client.connect(transport);
  return assistant;
}

const MARKS = /^Untrusted text: [^\n]*\n<untrusted-([0-9a-f]{32})>\n(.*)\n<\/untrusted-\1>$/s;

class Assistant {
  seen = [];

  constructor(client) {
    this.client = client;
  }

  /** The result of a tool, as the client got it. */
  async raw(name, args = {}) {
    const result = await this.client.callTool({ name, arguments: args });
    this.seen.push(JSON.stringify(result));
    return result;
  }

  /** What a tool returned: `data`, and what respondents wrote in `untrusted`, which must be between the marks. */
  async call(name, args = {}) {
    const { content, isError, structuredContent } = await this.raw(name, args);
    assert.ok(!isError, `${name}: ${content[0].text}`);
    assert.equal(structuredContent, undefined);
    assert.ok(content.length <= 2 && content.every(({ type }) => type === "text"));
    const bytes = content.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    if (content.length === 1) return { data: JSON.parse(content[0].text), bytes };
    const [, word, inside] = MARKS.exec(content[1].text) ?? assert.fail(content[1].text);
    const untrusted = inside === "" ? [] : inside.split("\n").map((line) => JSON.parse(line));
    return { data: JSON.parse(content[0].text), untrusted, word, bytes, trustedText: content[0].text, markedText: content[1].text };
  }

  /** The message of a tool that must fail, and what it quotes. */
  async refused(name, args = {}) {
    const { message, quoted } = await this.failed(name, args);
    return [message, ...quoted].join("\n");
  }

  /** The same in two parts: our sentences, and what the server said, which must be between the marks. */
  async failed(name, args = {}) {
    const { content, isError } = await this.raw(name, args);
    assert.equal(isError, true, `${name} was not refused: ${JSON.stringify(content)}`);
    assert.ok([1, 2].includes(content.length) && content.every(({ type }) => type === "text"));
    const [{ text: message }, marked] = content;
    if (!marked) return { message, quoted: [] };
    const [, , inside] = MARKS.exec(marked.text) ?? assert.fail(marked.text);
    return { message, quoted: inside.split("\n").map((line) => JSON.parse(line)), markedText: marked.text };
  }

  async close() {
    await this.client.close();
  }
}
