// Webhooks of the real server to real receivers: the libraries of the Standard Webhooks project verify every delivery, also of
// batches, and bad receivers get what the guide says. tests/faults/cases/deliveries.py kills the server.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Webhook } from "standardwebhooks";

import { python } from "./python.mjs";
import { startServer } from "./server.mjs";

const DEFINITION = { title: "Reported", questions: [{ id: "why", type: "longText", prompt: "Why?" }] };
const ARGS = ["--webhook-allow", "127.0.0.0/8", "--webhook-allow-http"];
const WAIT_MS_MAX = 120_000;

let server;
before(async () => (server = await startServer({ args: ARGS })));
after(() => server?.stop());

/** A receiver: `answer` replies to each request; `got` is what it received. */
async function receiver(answer = (_, reply) => reply.writeHead(204).end()) {
  const got = [];
  const listener = createServer(async (request, reply) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString("utf8");
    const received = { path: request.url, headers: request.headers, body, event: JSON.parse(body) };
    got.push(received);
    answer(received, reply);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = `http://127.0.0.1:${listener.address().port}`;
  return { url, got, stop: () => (listener.closeAllConnections(), listener.close()) };
}

async function until(what, isMet) {
  const end = Date.now() + WAIT_MS_MAX;
  while (!(await isMet())) {
    assert.ok(Date.now() < end, `${what} did not happen`);
    await sleep(50);
  }
}

async function submit(base, { flowVersionId }, answers) {
  const input = {
    flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers,
  };
  const reply = await fetch(`${base}/trpc/response.submit`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(input),
  });
  return (await reply.json())?.result?.data ?? null;
}

/** An app with a flow and an endpoint. */
async function hooked(name, url, options = {}) {
  const app = await server.createApp(name);
  const flow = await server.createFlow(app.appId, name, DEFINITION);
  const endpoint = await server.admin("POST", `/apps/${app.appId}/webhooks`, {
    url, events: ["response.created"], ...options,
  });
  const path = `/apps/${app.appId}/webhooks/${endpoint.webhookId}`;
  const deliveries = async () => (await server.admin("GET", `${path}/deliveries`)).items;
  return { ...app, flow, path, secret: endpoint.secret, deliveries };
}

const PYTHON = `
import json, sys
from standardwebhooks import Webhook
for secret, headers, body in json.load(sys.stdin):
    Webhook(secret).verify(body, headers)
print("verified")
`;

test("the libraries of the specification verify every delivery, with either secret during a rotation", async () => {
  const to = await receiver();
  try {
    const app = await hooked("Verified", to.url, { events: [] });
    const secrets = [[app.secret]];
    for (let number = 0; number < 3; number += 1) await submit(app.base, app.flow, { why: `é ${number}` });
    await until("three deliveries", () => to.got.length >= 3);
    const rotated = await server.admin("POST", `${app.path}/secret`, { keepPreviousSeconds: 600 });
    const first = to.got.length;
    await submit(app.base, app.flow, { why: "rotated" });
    await until("a delivery with two signatures", () => to.got.length > first);
    const after = await server.admin("POST", `${app.path}/secret`, { keepPreviousSeconds: 0 });
    const last = to.got.length;
    await submit(app.base, app.flow, { why: "after" });
    await until("a delivery with the last secret", () => to.got.length > last);
    const checks = [];
    to.got.forEach(({ headers, body, event }, index) => {
      const valid = index < first ? secrets[0] : index < last ? [app.secret, rotated.secret] : [after.secret];
      for (const secret of valid) {
        assert.deepEqual(new Webhook(secret).verify(body, headers), event);
        checks.push([secret, headers, body]);
      }
      assert.equal(headers["webhook-id"], event.id);
      const other = index < first ? after.secret : index < last ? after.secret : app.secret;
      assert.throws(() => new Webhook(other).verify(body, headers), "another secret");
      assert.throws(() => new Webhook(valid[0]).verify(`${body} `, headers), "another body");
    });
    assert.equal(await python(["-c", PYTHON], JSON.stringify(checks)), "verified");
  } finally {
    to.stop();
  }
});

test("the libraries verify batches, with either secret during a rotation", async () => {
  const to = await receiver();
  try {
    const app = await hooked("Batches", to.url, { batch: true });
    const events = () => to.got.flatMap((it) => it.event.data.events);
    const send = async (count) => {
      const all = events().length + count;
      await Promise.all(Array.from({ length: count }, (_, number) => submit(app.base, app.flow, { why: `é ${number}` })));
      await until(`${count} events`, () => events().length >= all);
    };
    await send(30);
    const first = to.got.length;
    const rotated = await server.admin("POST", `${app.path}/secret`, { keepPreviousSeconds: 600 });
    await send(5);
    const checks = [];
    to.got.forEach(({ headers, body, event }, index) => {
      const valid = index < first ? [app.secret] : [app.secret, rotated.secret];
      for (const secret of valid) {
        assert.deepEqual(new Webhook(secret).verify(body, headers), event);
        checks.push([secret, headers, body]);
      }
      assert.equal(event.type, "event.batch");
      assert.equal(headers["webhook-id"], event.id);
      assert.match(event.id, /^batch_[0-9a-f]{32}$/);
      const other = index < first ? rotated.secret : `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
      assert.throws(() => new Webhook(other).verify(body, headers), "another secret");
      // The signature is about every event of the batch.
      assert.throws(() => new Webhook(valid[0]).verify(body.replace("é", "e"), headers), "another body");
    });
    assert.equal(await python(["-c", PYTHON], JSON.stringify(checks)), "verified");
    assert.ok(to.got.some((it) => it.event.data.events.length > 1), "no batch has several events");
    assert.ok(to.got.every((it) => it.event.data.events.length <= 100));
    assert.equal(new Set(to.got.map((it) => it.event.id)).size, to.got.length, "each batch has its own id");
    const ids = events().map((it) => it.id);
    assert.equal(ids.length, 35);
    assert.equal(new Set(ids).size, 35);
  } finally {
    to.stop();
  }
});

test("a receiver that fails, redirects, drips or asks for a pause gets the event again", async () => {
  const elsewhere = await receiver();
  const replies = {
    "/fails": (reply) => reply.writeHead(500).end("out of order"),
    "/redirects": (reply) => reply.writeHead(302, { location: elsewhere.url }).end(),
    "/asks": (reply) => reply.writeHead(429, { "retry-after": "3600" }).end(),
    "/drips": (reply) => {
      reply.writeHead(200);
      const drip = setInterval(() => reply.write("x"), 500);
      reply.on("close", () => clearInterval(drip));
    },
  };
  const to = await receiver(({ path }, reply) => replies[path](reply));
  try {
    const apps = new Map();
    for (const path of Object.keys(replies)) {
      const app = await hooked(path, `${to.url}${path}`);
      await submit(app.base, app.flow, { why: path });
      apps.set(path, app);
    }
    const shown = {};
    for (const [path, app] of apps) {
      await until(`an attempt at ${path}`, async () => (await app.deliveries()).some((it) => it.attempts > 0));
      shown[path] = (await app.deliveries()).at(-1);
      assert.equal(shown[path].state, "waiting", path);
    }
    assert.equal(shown["/fails"].status, 500);
    assert.equal(shown["/fails"].reply, "out of order");
    assert.equal(shown["/redirects"].status, 302);
    assert.equal(elsewhere.got.length, 0, "a redirect was followed");
    const pause = Date.parse(shown["/asks"].nextAt) - Date.parse(shown["/asks"].attemptedAt);
    assert.ok(pause >= 3_600_000 && pause <= 3_970_000, `${pause} ms`);
    assert.equal(shown["/drips"].status, null);
    assert.match(shown["/drips"].error, /no complete reply in time/);
    assert.ok(shown["/drips"].latencyMillis >= 14_000 && shown["/drips"].latencyMillis < 25_000);
    // The second attempt follows after five seconds, with the same id.
    const ids = () => to.got.filter((it) => it.path === "/fails").map((it) => it.event.id);
    await until("the second attempt", () => ids().length >= 2);
    assert.equal(new Set(ids()).size, 1);
  } finally {
    to.stop();
    elsewhere.stop();
  }
});

test("a receiver that hangs delays no other", async () => {
  const to = await receiver(({ path }, reply) => path === "/hangs" || reply.writeHead(204).end());
  try {
    const slow = await hooked("Slow", `${to.url}/hangs`);
    for (let number = 0; number < 20; number += 1) await submit(slow.base, slow.flow, { why: `${number}` });
    await until("a hanging request", () => to.got.some((it) => it.path === "/hangs"));
    const quick = await hooked("Quick", `${to.url}/quick`);
    const begun = Date.now();
    await submit(quick.base, quick.flow, { why: "quick" });
    await until("the other delivery", () => to.got.some((it) => it.path === "/quick"));
    assert.ok(Date.now() - begun < 14_000, `${Date.now() - begun} ms`);
  } finally {
    to.stop();
  }
});

test("a receiver that answers 410 is left alone, and its endpoint is disabled", async () => {
  const to = await receiver((_, reply) => reply.writeHead(410).end());
  try {
    const app = await hooked("Gone", to.url);
    await submit(app.base, app.flow, { why: "once" });
    await until("the end", async () => (await server.admin("GET", app.path)).state === "disabled");
    assert.equal((await server.admin("GET", app.path)).disabledReason, "gone");
    assert.equal(to.got.length, 1);
  } finally {
    to.stop();
  }
});
