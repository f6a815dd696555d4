// The retry recipe of docs/trpc.md, extracted and run unchanged: through a proxy that drops replies
// after the server stored the call, every call is stored exactly once.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { startServer } from "./server.mjs";
import * as v11 from "./v11/links.mjs";

const GUIDE = await readFile(join(import.meta.dirname, "../../docs/trpc.md"), "utf8");
const RECIPE = /^```js\n(.*?)^```$/ms.exec(GUIDE)[1];
const DEFINITION = { title: "Retried", questions: [{ id: "why", type: "longText", prompt: "Why?" }] };

let server;
let app;
let folder;
let createSubmit;
before(async () => {
  server = await startServer();
  app = await server.createApp("Retries");
  // Next to the packages of v11, so that the recipe resolves them as in a project.
  folder = await mkdtemp(join(import.meta.dirname, "v11/recipe-"));
  await writeFile(join(folder, "recipe.mjs"), RECIPE);
  ({ createSubmit } = await import(join(folder, "recipe.mjs")));
});
after(async () => {
  if (folder) await rm(folder, { recursive: true, force: true });
  await server?.stop();
});

test("the recipe stores a call whose reply was lost once", async () => {
  const flow = await server.createFlow(app.appId, "Recipe", DEFINITION);
  const proxy = await startProxy({ drops: 2 });
  try {
    const submit = createSubmit(`${proxy.url}/api/v1/${app.apiKey}/trpc`);
    const answers = ["first", "second", "third"];
    const outputs = await Promise.all(answers.map((why) => submit(submission(flow, why))));
    assert.ok(outputs.every((output) => output.success), JSON.stringify(outputs));
    assert.equal(proxy.dropped(), 2, "two replies were dropped");
    assert.deepEqual((await stored(flow)).sort(), answers.toSorted());
  } finally {
    proxy.stop();
  }
});

test("the same call over httpBatchLink, then httpLink, then a longer batch is stored once", async () => {
  const flow = await server.createFlow(app.appId, "Links", DEFINITION);
  const link = (name) => v11.links.find((kind) => kind.name === name).link;
  const client = (name) => v11.client(link(name), { url: `${app.base}/trpc` }).response.submit;
  const call = { ...submission(flow, "once"), idempotencyKey: crypto.randomUUID() };
  const { responseId } = await client("httpBatchLink").mutate(call);
  assert.equal((await client("httpLink").mutate(call)).responseId, responseId);
  const batch = client("httpBatchStreamLink");
  const [, again] = await Promise.all([batch.mutate(submission(flow, "other")), batch.mutate(call)]);
  assert.equal(again.responseId, responseId);
  assert.deepEqual((await stored(flow)).sort(), ["once", "other"]);
});

function submission({ flowVersionId }, why) {
  return {
    flowVersionId,
    flowVersionPayloadGeneration: "4",
    respondentAnalyticsAdmission: "collection_only",
    answers: { why },
  };
}

async function stored({ flowId }) {
  const { items } = await server.admin("GET", `/flows/${flowId}/responses?limit=100`);
  return items.map((item) => item.answers.why);
}

/** Forwards to the server, and closes the connection instead of sending the first replies. */
async function startProxy({ drops }) {
  let dropped = 0;
  const proxy = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const { "content-type": type, "idempotency-key": key } = request.headers;
    const headers = { "content-type": type, ...(key ? { "idempotency-key": key } : {}) };
    const reply = await fetch(server.url + request.url, { method: "POST", headers, body });
    const text = await reply.text();
    if (dropped < drops) {
      dropped += 1;
      return request.socket.destroy();
    }
    response.writeHead(reply.status, { "content-type": "application/json" }).end(text);
  });
  await new Promise((ready) => proxy.listen(0, "127.0.0.1", ready));
  const stop = () => {
    proxy.close();
    proxy.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${proxy.address().port}`, stop, dropped: () => dropped };
}
