// One HTTP exchange over a plain socket, with full control over its bytes, and the tRPC envelopes in its body.

import { connect } from "node:net";

const EXCHANGE_MS_MAX = 60_000;
const END = "\r\n\r\n";

/**
 * Sends a request and reads the reply until the server closes the connection.
 *
 * `prefix` is prepended to the path. A request has `method`, `path`, `headers` (a list of pairs), `body` (text, bytes,
 * or null), and optionally `http` (the version), `chunked`, `splitAt` (the number of body bytes to send first) and
 * `expects` (send the body only after `100 Continue`).
 */
export async function exchange(port, prefix, request) {
  const body = request.body == null ? null : Buffer.from(request.body);
  const head = Buffer.from(headOf(port, prefix, request, body), "latin1");
  const payload = body === null ? Buffer.alloc(0) : request.chunked ? chunked(body) : body;
  const socket = connect(port, "127.0.0.1");
  socket.setTimeout(EXCHANGE_MS_MAX, () => socket.destroy(new Error(`no reply to ${request.method} ${request.path}`)));
  let received = Buffer.alloc(0);
  const ended = new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.on("close", resolve);
    socket.on("data", (bytes) => {
      received = Buffer.concat([received, bytes]);
      if (request.expects && /^HTTP\/1.1 100 [^]*?\r\n\r\n/.test(received.toString("latin1"))) {
        received = received.subarray(received.indexOf(END) + END.length);
        socket.write(payload);
      }
    });
  });
  if (request.expects) {
    socket.write(head);
  } else {
    const first = request.splitAt ?? payload.length;
    socket.write(Buffer.concat([head, payload.subarray(0, first)]));
    if (first < payload.length) setTimeout(() => socket.write(payload.subarray(first)), 50);
  }
  await ended;
  return replyOf(received);
}

function headOf(port, prefix, request, body) {
  const { method, path, headers = [], http = "1.1" } = request;
  const has = (name) => headers.some(([it]) => it.toLowerCase() === name);
  const lines = [`${method} ${prefix}${path} HTTP/${http}`, `Host: 127.0.0.1:${port}`];
  lines.push(...headers.map(([name, value]) => `${name}: ${value}`));
  if (!has("connection")) lines.push("Connection: close");
  if (request.chunked) lines.push("Transfer-Encoding: chunked");
  else if (body !== null) lines.push(`Content-Length: ${body.length}`);
  return lines.join("\r\n") + END;
}

function chunked(body) {
  const size = Buffer.from(`${body.length.toString(16)}\r\n`);
  return Buffer.concat([size, body, Buffer.from("\r\n0\r\n\r\n")]);
}

function replyOf(bytes) {
  const end = bytes.indexOf(END);
  if (end < 0) throw new Error(`not a reply: ${bytes.toString("latin1").slice(0, 200)}`);
  const [first, ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const headers = {};
  for (const line of lines) {
    const [name] = line.split(":", 1);
    headers[name.toLowerCase()] = line.slice(name.length + 1).trim();
  }
  let body = bytes.subarray(end + END.length);
  if (headers["transfer-encoding"]?.includes("chunked")) body = unchunked(body);
  return { status: Number(first.split(" ")[1]), headers, body: body.toString("utf8") };
}

function unchunked(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; ) {
    const line = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.subarray(at, line).toString("latin1"), 16);
    if (!(size > 0)) break;
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
  return Buffer.concat(parts);
}

/** The framing of a body, and the envelope (`result` or `error`) of each call in it. */
export function envelopesOf(body) {
  if (body === "") return { framing: "empty", items: [] };
  const [first, ...rest] = body.split("\n").filter((line) => line.trim() !== "");
  if (rest.length > 0) {
    const head = parsed(first);
    if (head !== undefined && Object.values(head).every(isReference)) {
      return { framing: "jsonl", items: fromJsonl(head, rest.map((line) => JSON.parse(line))) };
    }
    // Version 10 sends one object, with one line per call as it completes.
    return { framing: "stream", items: inOrder(JSON.parse(body)) };
  }
  const value = JSON.parse(body);
  if (Array.isArray(value)) return { framing: "array", items: value };
  if (Object.keys(value).every((key) => /^\d+$/.test(key))) return { framing: "stream", items: inOrder(value) };
  return { framing: "object", items: [value] };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The values of an object with indexes as keys, in order. */
const inOrder = (object) => Object.keys(object).sort((a, b) => a - b).map((key) => object[key]);

/** In JSON Lines a value is `[[data], [key, kind, chunk]…]`: the chunk replaces the key, or the whole value. */
const isReference = (value) => Array.isArray(value) && Array.isArray(value[0]);

function fromJsonl(head, lines) {
  const chunks = new Map(lines.map(([id, status, value]) => [id, { status, value }]));
  const resolved = ([[data], ...later]) => {
    for (const [key, , id] of later) {
      const chunk = chunks.get(id);
      if (chunk === undefined) throw new Error(`chunk ${id} is missing`);
      const value = chunk.status === 0 ? resolved(chunk.value) : { error: chunk.value };
      if (key === null) return value;
      data[key] = value;
    }
    return data;
  };
  return inOrder(head).map(resolved);
}
