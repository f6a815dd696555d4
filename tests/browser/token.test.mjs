// With `enforce`, a token identifies the respondent: from the fragment of the address, or from the host.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, test } from "node:test";

import { ASKING } from "./support/flows.mjs";
import { snippet, startHost } from "./support/host.mjs";
import { fill, sendAll } from "./support/answering.mjs";
import { becomes } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
const host = await startHost(world);
after(async () => {
  host.close();
  await world.close();
});

const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

function sign({ secret, kid, appId }, { sub = "ada", age = 0 } = {}) {
  const now = Math.floor(Date.now() / 1000) - age;
  const head = part({ alg: "HS256", typ: "JWT", kid });
  const claims = part({ sub, aud: appId, iat: now, exp: now + 300 });
  return `${head}.${claims}.${createHmac("sha256", secret).update(`${head}.${claims}`).digest("base64url")}`;
}

async function enforced(definition = ASKING) {
  const flow = await world.flow(definition, { app: { allowedOrigins: [host.origin] } });
  const { secret, kid } = await world.server.admin("POST", `/apps/${flow.appId}/identity-keys`, { type: "hs256" });
  await world.server.admin("PATCH", `/apps/${flow.appId}`, { identityVerification: "enforce" });
  return { ...flow, secret, kid };
}

async function checkStored(flow) {
  const [response] = await world.responses(flow);
  assert.deepEqual(response.identities, [{ type: "userId", value: "ada", verified: true }]);
  assert.equal(response.identityVerified, true);
}

async function answer(page) {
  await fill(page.locator("#q-nps"), "9");
  await page.locator(".consent label").click();
}

test("without a token nothing of the flow is shown, and the page explains what is missing", async () => {
  const flow = await enforced();
  for (const script of [true, false]) {
    const page = await world.visit(flow.path, { script });
    await page.locator("main[data-state=token] h1").waitFor();
    assert.doesNotMatch(await page.content(), /Would you recommend us/);
  }
});

test("a token in the fragment is removed from the address, and verifies the respondent", async () => {
  const flow = await enforced();
  const page = await world.visit(`${flow.path}#token=${sign(flow)}`);
  await page.locator("#q-nps").waitFor();
  assert.doesNotMatch(page.url(), /token/);
  await answer(page);
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state]));
  assert.doesNotMatch(kept, /answers|ey/);
  await sendAll(page);
  await checkStored(flow);
});

test("the form has the flow's language and direction, whatever the previous page had", async () => {
  const flow = await enforced({ ...ASKING, defaultLocale: "he" });
  const page = await world.visit(`${flow.path}#token=${sign(flow)}`);
  await page.locator("#q-nps").waitFor();
  await becomes(() => page.evaluate(() => [document.documentElement.lang, document.documentElement.dir]), ["he", "rtl"]);
});

for (const [title, token] of [["expired", (flow) => sign(flow, { age: 4000 })], ["invalid", () => "no.such.token"]]) {
  test(`a token that is ${title} shows a message, not the flow`, async () => {
    const flow = await enforced();
    const page = await world.visit(`${flow.path}#token=${token(flow)}`);
    await page.locator("main[data-state=token]").waitFor();
    await page.waitForLoadState("networkidle");
    assert.doesNotMatch(await page.content(), /Would you recommend us/);
  });
}

test("a host sends the token on request, and a new one when it has expired", async () => {
  const flow = await enforced();
  // The documented snippet fetches a token from the host's server; here the page has two tokens in a row.
  host.put("/token", snippet(1, world.server.url, flow.flowId));
  const tokens = [sign(flow), sign(flow)];
  const page = await world.visit("/healthz");
  await page.route(`${host.origin}/sluice-token`, (route) => route.fulfill({ body: tokens.shift() }));
  await page.goto(`${host.origin}/token`);
  const frame = page.frameLocator("iframe");
  await frame.locator("#q-nps").waitFor();
  assert.equal(tokens.length, 1);
  await answer(frame);
  let refused = 0;
  await page.route(`**${flow.path}*`, (route) => {
    if (route.request().method() !== "POST" || refused++ > 0) return route.continue();
    const expired = { ...route.request().headers(), authorization: `Bearer ${sign(flow, { age: 4000 })}` };
    return route.continue({ headers: expired });
  });
  await sendAll(frame);
  assert.equal(tokens.length, 0);
  await checkStored(flow);
});

test("a token is accepted only from the host, not from any other window", async () => {
  const flow = await enforced();
  host.put("/other", `<iframe src="${world.address(flow.path)}?embed=1"></iframe><iframe name="other"></iframe>`);
  const page = await world.visit(`${host.origin}/other`);
  const main = page.frameLocator("iframe >> nth=0").locator("main");
  await main.waitFor();
  await main.evaluate(() => { window.delivered = new Promise((done) => addEventListener("message", done, { once: true })); });
  let asked = 0;
  page.on("request", () => (asked += 1));
  // A sibling frame that has the host's origin but is not the host.
  const post = (token) => frames[0].postMessage({ type: "sluice:token", token }, "*");
  await page.frame("other").evaluate((token) => parent.frames[0].postMessage({ type: "sluice:token", token }, "*"), sign(flow));
  await main.evaluate(() => window.delivered.then(() => null));
  assert.equal(asked, 0, "no request may use it");
  assert.equal(await main.getAttribute("data-state"), "token");
  await page.evaluate(post, sign(flow));
  await page.frameLocator("iframe >> nth=0").locator("main[data-state=asking]").waitFor();
});
