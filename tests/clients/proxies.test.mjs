// The files of packaging/proxies before two real nodes: nginx, HAProxy and Caddy with TLS, each on loopback.

import assert from "node:assert/strict";
import http from "node:http";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { HOST, PROGRAMS, startProxy } from "./proxies.mjs";
import { startServer } from "./server.mjs";

const DEFINITION = { title: "Proxied", questions: [{ id: "nps", type: "nps", prompt: "How likely?" }] };
/** A client that is not on the machine of the proxy, which alone is trusted. */
const CLIENT = "127.0.0.2";

/** Two nodes on one database. */
async function startNodes(path = "") {
  const args = ["--public-url", `https://${HOST}${path}`, "--trusted-proxies", "127.0.0.1/32", "--hosted-sends-per-minute", "0"];
  const first = await startServer({ args });
  const second = await startServer({ args, data: first.data });
  return [first, second];
}

function submission(flowVersionId, idempotencyKey) {
  return JSON.stringify({
    flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers: { nps: "9" }, idempotencyKey,
  });
}

const JSON_TYPE = { "content-type": "application/json" };

for (const kind of Object.keys(PROGRAMS)) {
  test(`${kind}: TLS, addresses, streams and a node that stops`, async () => {
    const nodes = await startNodes();
    const proxy = await startProxy(kind, nodes);
    let isStopped = false;
    try {
      const { appId, apiKey } = await nodes[0].createApp("Proxied");
      const { flowId, flowVersionId } = await nodes[0].createFlow(appId, "Proxied", DEFINITION);
      const submit = (key) => proxy.call("POST", `/api/v1/${apiKey}/trpc/response.submit`, { headers: JSON_TYPE, body: submission(flowVersionId, key) });
      const stored = async (key) => {
        let reply = await submit(key);
        // Caddy 2.6 cannot send a body to another node. The client repeats the call with its key, as SDKs do.
        for (let tries = 0; kind === "caddy" && reply.status === 502 && tries < 100; tries += 1) {
          await pause(100);
          reply = await submit(key);
        }
        assert.equal(reply.status, 200, `${reply.text}${proxy.log()}`);
        const { data } = JSON.parse(reply.text).result;
        assert.equal(data.success, true, reply.text);
        return data.responseId;
      };

      // A hosted page.
      const page = await proxy.call("GET", `/f/${flowId}`);
      assert.equal(page.status, 200);
      assert.match(page.text, /How likely\?/);
      assert.equal(page.headers["strict-transport-security"], "max-age=31536000");

      // Plain HTTP leads to HTTPS.
      const request = http.get({ host: "127.0.0.1", port: proxy.httpPort, path: `/f/${flowId}?a=b`, headers: { host: HOST } });
      const [plain] = await once(request, "response");
      plain.resume();
      assert.match(String(plain.statusCode), /^30[1278]$/);
      assert.match(plain.headers.location, new RegExp(`^https://${HOST}(:\\d+)?/f/${flowId}\\?a=b$`));

      await metricsAreClosed(proxy, nodes, "");

      // The address of the client, whatever it claims.
      const wrong = { authorization: "Bearer sluice_wrong", "x-forwarded-for": "203.0.113.9" };
      const refused = await proxy.call("GET", "/api/admin/v1/apps", { headers: wrong, from: CLIENT, agent: undefined });
      assert.equal(refused.status, 401);
      await logged(nodes, `address=${CLIENT}`);
      assert.ok(!nodes.some((node) => node.log().includes("203.0.113.9")));

      // An upload of nearly 2 MiB passes: the usual limit of nginx is 1 MiB.
      const image = await proxy.call("POST", `/api/admin/v1/apps/${appId}/assets`, {
        headers: { authorization: `Bearer ${nodes[0].token}`, "content-type": "image/png" }, body: Buffer.alloc((2 << 20) - 1, 1),
      });
      assert.equal(image.status, 422, image.text);

      // A stream of events: each arrives while the reply is still open.
      const events = await proxy.open("GET", `/api/admin/v1/apps/${appId}/events`, {
        headers: { authorization: `Bearer ${nodes[0].token}`, accept: "text/event-stream" }, agent: undefined,
      });
      assert.equal(events.headers["content-type"], "text/event-stream");
      let seen = "";
      events.setEncoding("utf8").on("data", (chunk) => (seen += chunk)).on("error", () => {});
      const first = await stored("first");
      await condition(() => seen.includes(first), () => `the event has not arrived: ${seen}`);
      assert.ok(!events.readableEnded);
      events.destroy();

      // One node stops: nothing fails, and a retry of what it stored is answered by the other.
      const before = await stored("before");
      const stopping = nodes[0].stopOnly();
      const during = [];
      for (let n = 0; n < 40; n += 1) during.push(await stored(`during-${n}`));
      await stopping;
      isStopped = true;
      assert.equal(new Set(during).size, during.length);
      assert.equal(await stored("before"), before);
      assert.equal(await stored("during-0"), during[0]);
      const { items } = await nodes[1].admin("GET", `/flows/${flowId}/responses?limit=100`);
      assert.equal(items.length, during.length + 2);
    } finally {
      await proxy.stop();
      if (!isStopped) await nodes[0].stopOnly();
      await nodes[1].stop();
    }
  });

  test(`${kind}: below a path`, async () => {
    const path = "/feedback";
    const nodes = await startNodes(path);
    const proxy = await startProxy(kind, nodes, { path });
    try {
      const { appId, apiKey } = await nodes[0].createApp("Below");
      const { flowId, flowVersionId } = await nodes[0].createFlow(appId, "Below", DEFINITION);
      const page = await proxy.call("GET", `${path}/f/${flowId}`);
      assert.equal(page.status, 200);
      assert.match(page.text, new RegExp(`action="${path}/f/${flowId}"`));
      const start = await proxy.call("GET", path);
      assert.equal(start.headers.location, `${path}/console`);
      const body = submission(flowVersionId, "below");
      const reply = await proxy.call("POST", `${path}/api/v1/${apiKey}/trpc/response.submit`, { headers: JSON_TYPE, body });
      assert.equal(JSON.parse(reply.text).result.data.success, true, reply.text);
      await metricsAreClosed(proxy, nodes, path);

      // The rest of the host is not the service's.
      const outside = await proxy.call("GET", `/f/${flowId}`).catch(() => ({ text: "" }));
      assert.doesNotMatch(outside.text, /<form/);
      assert.match(page.text, /<form/);
    } finally {
      await proxy.stop();
      await nodes[0].stopOnly();
      await nodes[1].stop();
    }
  });
}

for (const kind of Object.keys(PROGRAMS)) {
  test(`${kind}: one machine may read the metrics`, async () => {
    const nodes = await startNodes();
    const proxy = await startProxy(kind, nodes, { monitor: CLIENT });
    try {
      const allowed = await proxy.call("GET", "/metrics", { from: CLIENT, agent: undefined });
      assert.equal(allowed.status, 200);
      assert.match(allowed.text, /^sluice_build_info/m);
      const other = await proxy.call("GET", "/metrics");
      assert.match(String(other.status), /^40[34]$/);
      assert.doesNotMatch(other.text, /sluice_/);
    } finally {
      await proxy.stop();
      await nodes[0].stopOnly();
      await nodes[1].stop();
    }
  });
}

/** The nodes have metrics, and the proxy does not show them, however the path is written. */
async function metricsAreClosed(proxy, nodes, path) {
  const own = await fetch(new URL("/metrics", nodes[0].url));
  assert.equal(own.status, 200);
  assert.match(await own.text(), /^sluice_build_info/m);
  for (const address of ["/metrics", "/metrics?a=b", "/metrics/", "//metrics", "/%6detrics", "/./metrics", "/x/../metrics"]) {
    for (const below of new Set(["", path])) {
      const reply = await proxy.call("GET", below + address).catch(() => ({ status: 0, text: "" }));
      assert.doesNotMatch(reply.text, /sluice_/, `${below}${address}`);
      if (address.startsWith("/metrics") && below === path) assert.equal(reply.status, 404, `${below}${address}`);
    }
  }
}

const logged = (nodes, text) => condition(() => nodes.some((node) => node.log().includes(text)), () => `nothing logged with ${text}: ${nodes.map((node) => node.log())}`);

async function condition(check, message) {
  for (const end = Date.now() + 60_000; !check(); await pause(20)) assert.ok(Date.now() < end, message());
}
