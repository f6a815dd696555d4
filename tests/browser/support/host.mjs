// A page of another origin that embeds a flow with the snippet of docs/embed.md.

import { createServer } from "node:http";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const DOCUMENT = readFileSync(resolve(import.meta.dirname, "../../../docs/embed.md"), "utf8");

/** The `nth` snippet of the document, with real addresses. */
export function snippet(nth, server, flowId) {
  const found = [...DOCUMENT.matchAll(/```html\n(.*?)```/gs)].map(([, text]) => text);
  return found[nth].replaceAll("https://feedback.example.com", server).replaceAll("fl_…", flowId);
}

/** Serves pages by path on a free port. `localhost` and `127.0.0.1` are two different origins. */
export async function startHost(world) {
  const pages = new Map();
  const http = createServer((request, reply) => {
    const { pathname } = new URL(request.url, "http://host");
    reply.writeHead(pages.has(pathname) ? 200 : 404, { "content-type": "text/html; charset=utf-8" });
    reply.end(pages.get(pathname));
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const origin = `http://localhost:${http.address().port}`;
  const otherOrigin = `http://127.0.0.1:${http.address().port}`;
  world.hosts.add(origin).add(otherOrigin);
  /** A page with this body that stores all messages, with their origins, in `messages`. */
  const put = (path, body) => pages.set(path, `<!doctype html><html lang="en"><title>Host</title><meta name="viewport" content="width=device-width">
    <script>messages = []; addEventListener("message", ({ origin, data }) => messages.push({ origin, data }))</script>
    <main><h1>Host</h1>${body}</main></html>`);
  return { origin, otherOrigin, put, close: () => http.close() };
}
