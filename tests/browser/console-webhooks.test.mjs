// Webhook endpoints in the console, with a real receiver: an endpoint is created, tested, fails, is repaired, rotated and deleted.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { LOCAL_WEBHOOKS } from "./support/console-pages.mjs";
import { agree, atDesk, checkPage } from "./support/console.mjs";
import { becomes, matches, until } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const ARGS = ["--hosted-sends-per-minute", "0", ...LOCAL_WEBHOOKS];
const ARRIVAL_MS_MAX = 25_000;
const FEEDBACK = { title: "Product feedback", questions: [{ id: "why", type: "longText", prompt: "What would make it better?" }] };

let world, desk, flow, receiver;
before(async () => {
  world = await openWorld({ args: ARGS });
  desk = await atDesk(world);
  flow = await world.flow(FEEDBACK, { name: "Product feedback" });
  receiver = await listen();
});
after(async () => {
  receiver?.stop();
  await world?.close();
});

/** A receiver that replies with `status`, and what it got. */
async function listen() {
  const to = { got: [], status: 204 };
  const server = createServer(async (request, reply) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString("utf8");
    to.got.push({ headers: request.headers, body, event: JSON.parse(body) });
    reply.writeHead(to.status, { "content-type": "text/plain" }).end(to.status < 300 ? "" : "The disk is full");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  to.url = `http://127.0.0.1:${server.address().port}/hooks/sluice`;
  to.stop = () => (server.closeAllConnections(), server.close());
  return to;
}

/** Whether one of the signatures of a request was made with this secret. */
function isSigned({ headers, body }, secret) {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const made = createHmac("sha256", key).update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`).digest("base64");
  return headers["webhook-signature"].split(" ").includes(`v1,${made}`);
}

async function submit(why) {
  const body = { flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers: { why } };
  const reply = await fetch(`${flow.base}/trpc/response.submit`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  assert.ok((await reply.json()).result.data.success);
}

const webhooks = () => `/console/apps/${flow.appId}/settings/webhooks`;
/** The last request with this answer. An endpoint without a sign of anything new is looked at every 30 seconds. */
async function arrived(why) {
  for (const deadline = Date.now() + ARRIVAL_MS_MAX; ;) {
    const found = receiver.got.findLast(({ event }) => event.data.response?.answers.why === why);
    if (found) return found;
    assert.ok(Date.now() < deadline, `“${why}” has not arrived`);
    await pause(50);
  }
}

async function check(name, path, act = async () => {}) {
  const page = await desk.open(path);
  await act(page);
  await checkPage(page, name);
  await page.context().close();
}

test("without an endpoint the page explains webhooks", async () => {
  await check("webhooks none", webhooks());
  await check("webhooks new", `${webhooks()}/new`);
});

test("an endpoint is created, tested, fails, is repaired, rotated and deleted", async () => {
  const page = await desk.open(webhooks());
  await page.getByRole("link", { name: "Add endpoint" }).click();
  await page.getByLabel("URL").fill("ftp://example.com/hook");
  await page.getByRole("button", { name: "Create endpoint" }).click();
  await page.locator(".errors a[href='#url']").waitFor();
  await page.getByLabel("URL").fill(receiver.url);
  await page.getByLabel("Description").fill("The CRM");
  await page.getByLabel("Response stored").check();
  await page.locator("#flows").getByLabel("Product feedback").check();
  await page.getByRole("button", { name: "Create endpoint" }).click();

  const secret = (await page.locator("#secret").textContent()).trim();
  assert.match(secret, /^whsec_/);
  await page.goto(page.url());
  await page.getByRole("link", { name: receiver.url }).click();
  await page.waitForURL(/\/webhooks\/[^/]+$/);
  assert.equal(await page.locator("#secret").count(), 0, "the secret is shown once");
  const endpoint = page.url();

  await page.getByRole("button", { name: "Send test event" }).click();
  await page.getByText("The test event was delivered.").waitFor();
  const [tried] = receiver.got;
  assert.equal(tried.event.type, "endpoint.test");
  assert.ok(isSigned(tried, secret));
  await until(async () => assert.ok((await page.locator("#payload").textContent()).includes(tried.event.id)));

  receiver.status = 500;
  await submit("More colours");
  const first = await arrived("More colours");
  assert.ok(isSigned(first, secret));
  await until(async () => {
    await page.goto(endpoint);
    assert.equal(await page.locator("h2.address + .state").textContent(), "Failing");
  });
  await page.getByRole("navigation", { name: "Deliveries by outcome" }).getByRole("link", { name: "Waiting" }).click();
  await page.getByRole("region", { name: "Table of deliveries" }).getByRole("link", { name: "Response stored" }).click();
  await page.getByText("The disk is full").waitFor();
  await page.getByText("Next attempt").waitFor();
  await until(async () => assert.ok((await page.locator("#payload").textContent()).includes("More colours")));
  const delivery = page.url();

  // After the second attempt there is none for minutes, so that only the button sends it again.
  await until(() => assert.ok(receiver.got.filter(({ event }) => event.id === first.event.id).length >= 2));
  receiver.status = 204;
  const before = receiver.got.length;
  await page.getByRole("button", { name: "Send now" }).click();
  await page.getByText("The event is being sent again.").waitFor();
  await until(async () => {
    await page.goto(delivery);
    assert.equal(await page.locator("section.card header .state").first().textContent(), "Delivered");
  });
  assert.ok(receiver.got.length > before);
  assert.equal((await arrived("More colours")).event.id, first.event.id, "the same event again");
  await until(async () => {
    await page.goto(endpoint);
    assert.equal(await page.locator("h2.address + .state").textContent(), "Active");
  });

  await page.getByRole("link", { name: "Replace…" }).click();
  const dialog = page.locator("dialog.ask[open]");
  await dialog.getByLabel("Keep the current secret valid for").selectOption("1 hour");
  await dialog.getByRole("button", { name: "Replace secret" }).click();
  await page.getByText("The previous secret stays valid until").first().waitFor();
  const replaced = (await page.locator("#secret").textContent()).trim();
  assert.notEqual(replaced, secret);
  await submit("Fewer colours");
  const second = await arrived("Fewer colours");
  assert.ok(isSigned(second, secret) && isSigned(second, replaced), "both secrets sign");

  await page.goto(endpoint);
  await page.getByRole("link", { name: "Replay…" }).click();
  await page.locator("dialog.ask[open]").getByLabel("Or after an event").fill(first.event.id);
  const sent = receiver.got.length;
  await page.locator("dialog.ask[open]").getByRole("button", { name: "Replay" }).click();
  await page.getByText("Events are being sent again.").waitFor();
  await until(() => assert.ok(receiver.got.slice(sent).some(({ event }) => event.id === second.event.id)));

  await page.getByRole("button", { name: "Disable" }).click();
  await agree(page);
  await page.getByText("Disabled. Events stay in the log").waitFor();
  await submit("While it was disabled");
  await page.getByRole("button", { name: "Enable" }).click();
  await page.getByText("Enabled. The endpoint continues where it left off.").waitFor();
  await submit("After it was enabled");
  await arrived("After it was enabled");
  await arrived("While it was disabled");

  await page.getByRole("button", { name: "Delete" }).click();
  await agree(page);
  await page.getByText("Deleted.").waitFor();
  await page.getByText("No webhook endpoints yet").waitFor();
  await page.context().close();
});

test("without JavaScript, failed deliveries are sent again and the log can be read", async () => {
  const made = await world.server.admin("POST", `/apps/${flow.appId}/webhooks`, { url: receiver.url });
  const page = await desk.open(`${webhooks()}/${made.webhookId}`, { script: false });
  await page.getByRole("link", { name: "Redeliver…" }).click();
  await page.getByRole("button", { name: "Redeliver" }).click();
  await page.getByText("Failed deliveries are being sent again.").waitFor();
  await page.getByRole("link", { name: "Replay…" }).click();
  await page.getByLabel("Or after an event").fill("nonsense");
  await page.getByRole("button", { name: "Replay" }).click();
  await page.locator(".errors a[href='#after']").waitFor();
  await until(async () => {
    await page.goto(world.address(`/console/apps/${flow.appId}/settings/events`));
    assert.ok(await page.getByText("Response stored").count() > 1);
  });
  await page.getByLabel("Type").selectOption("Flow published");
  await page.getByRole("button", { name: "Show" }).click();
  await becomes(() => page.locator("table tbody tr").count(), 1);
  await matches(() => page.locator("table tbody").textContent(), /Flow published/);
  await page.context().close();
  await world.server.admin("DELETE", `/apps/${flow.appId}/webhooks/${made.webhookId}`);
});

test("pages with deliveries fit and are accessible", async () => {
  const make = async (path, more = {}) => (await world.server.admin("POST", `/apps/${flow.appId}/webhooks`, { url: `${receiver.url}/${path}`, ...more })).webhookId;
  const good = await make("crm", { description: "The CRM", events: ["response.created", "response.deleted"], flows: [flow.flowId] });
  const bad = await make("a/very/long/path/with-a-token/0123456789abcdef0123456789abcdef0123456789abcdef");
  const off = await make("off");
  await world.server.admin("PATCH", `/apps/${flow.appId}/webhooks/${off}`, { enabled: false });
  receiver.status = 204;
  for (let at = 0; at < 4; at += 1) await submit(`Wish ${at}`);
  await arrived("Wish 3");
  receiver.status = 503;
  for (let at = 4; at < 8; at += 1) await submit(`Wish ${at}`);
  await arrived("Wish 7");
  const test = await world.server.admin("POST", `/apps/${flow.appId}/webhooks/${bad}/test`);
  const { items } = await until(async () => {
    const page = await world.server.admin("GET", `/apps/${flow.appId}/webhooks/${good}/deliveries?state=waiting`);
    assert.ok(page.items.length > 0);
    return page;
  });
  const one = `${webhooks()}/${good}`;
  const pages = {
    webhooks: webhooks(), endpoint: one, "endpoint-test": `${webhooks()}/${bad}/deliveries/${test.deliveryId}`, "endpoint-off": `${webhooks()}/${off}`,
    "endpoint-edit": `${one}/edit`, delivery: `${one}/deliveries/${items[0].deliveryId}`,
    "endpoint-replay": `${one}/replay`, events: `/console/apps/${flow.appId}/settings/events`,
  };
  for (const [name, path] of Object.entries(pages)) await check(name, path);
  await check("events-open", pages.events, (page) => page.locator("details.entry summary").last().click());
  await check("endpoint-secret", one, async (page) => {
    await page.getByRole("link", { name: "Replace…" }).click();
    await page.locator("dialog.ask[open]").waitFor();
  });
  // The keyboard alone opens a dialog and closes it.
  const page = await desk.open(one);
  await page.getByRole("link", { name: "Replay…" }).focus();
  await page.keyboard.press("Enter");
  await page.locator("dialog.ask[open]").waitFor();
  await page.keyboard.press("Escape");
  await becomes(() => page.locator("dialog.ask[open]").count(), 0);
  await page.context().close();
});
