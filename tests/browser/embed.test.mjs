// A flow in a page of another origin: allowed or refused, with the right height and messages.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { SHORT } from "./support/flows.mjs";
import { snippet, startHost } from "./support/host.mjs";
import { goOn, answerAll } from "./support/answering.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
const host = await startHost(world);
after(async () => {
  host.close();
  await world.close();
});

const messages = (page, type) =>
  page.evaluate((wanted) => messages.filter(({ data }) => data.type === wanted), type);

async function embed(definition, { allowedOrigins, from = host.origin, nth = 0, ...more }) {
  const flow = await world.flow(definition, { app: { allowedOrigins } });
  host.put(flow.path, snippet(nth, world.server.url, flow.flowId));
  const page = await world.visit(`${from}${flow.path}`, more);
  return { flow, page, frame: page.frameLocator("iframe") };
}

for (const size of ["phone", "desktop"]) {
  test(`an embedded flow sends its host messages when it is ready, resized and stored (${size})`, async () => {
    const { flow, page, frame } = await embed(SHORT, { allowedOrigins: [host.origin], size });
    await frame.locator("#q-nps").waitFor();
    const entries = await page.evaluate(() => history.length);
    const own = new URL(world.server.url).origin;
    const { flowId, flowVersionId } = flow;
    await becomes(() => messages(page, "sluice:ready"), [{ origin: own, data: { type: "sluice:ready", flowId, flowVersionId } }]);
    await frame.locator("label:has([value='3'])").click();
    await goOn(frame);
    await frame.locator("#q-why").waitFor();
    await page.waitForFunction(() => {
      const [inner] = [...document.querySelectorAll("iframe")];
      return inner.clientHeight === messages.filter(({ data }) => data.type === "sluice:resize").at(-1)?.data.height;
    });
    await becomes(() => frame.locator("html").evaluate((html) => html.scrollHeight > innerHeight), false, "the frame is as high as its page");
    await answerAll(frame, [["why", "Slow"], ["name", "Ada"]]);
    const [{ responseId }] = await world.responses(flow);
    const submitted = { type: "sluice:submitted", flowId, flowVersionId, responseId, redirectUrl: null };
    await becomes(() => messages(page, "sluice:submitted"), [{ origin: own, data: submitted }]);
    assert.equal(await page.evaluate(() => history.length), entries, "the steps are not in the host's history");
  });
}

test("an embedded flow works without script", async () => {
  const { flow, frame } = await embed(SHORT, { allowedOrigins: [host.origin], script: false });
  await answerAll(frame, [["nps", "9"], ["name", "Ada"]]);
  assert.equal((await world.responses(flow)).length, 1);
});

test("an app without a list of origins may be embedded anywhere, and sends messages to one origin only", async () => {
  const { page, frame } = await embed(SHORT, { allowedOrigins: [], from: host.otherOrigin });
  await frame.locator("#q-nps").waitFor();
  await becomes(async () => (await messages(page, "sluice:ready")).length, 1);
});

/** The browser shows its own error in the frame, and logs the reason to its console. */
async function checkRefused(page) {
  await matches(() => page.frames()[1].url(), /^chrome-error:/);
  assert.deepEqual(await page.evaluate(() => messages), []);
  world.takeFaults();
}

test("a page of an origin that is not allowed shows nothing and gets no messages", async () => {
  const { page } = await embed(SHORT, { allowedOrigins: [host.origin], from: host.otherOrigin });
  await checkRefused(page);
});

test("a wildcard allows the pages of every host below it, and not of the domain itself", async () => {
  const { port } = new URL(host.origin);
  const [below, itself] = [`http://shop.localhost:${port}`, `http://localhost:${port}`];
  world.hosts.add(below).add(itself);
  const allowedOrigins = [`http://*.localhost:${port}`];
  const { page, frame } = await embed(SHORT, { allowedOrigins, from: below });
  await frame.locator("#q-nps").waitFor();
  await page.waitForFunction(() => messages.some(({ data }) => data.type === "sluice:ready"));
  const other = await embed(SHORT, { allowedOrigins, from: itself });
  await checkRefused(other.page);
});

test("without embed=1 no page may embed a flow", async () => {
  const flow = await world.flow(SHORT, { app: { allowedOrigins: [host.origin] } });
  host.put("/plain", `<iframe src="${world.address(flow.path)}"></iframe>`);
  await checkRefused(await world.visit(`${host.origin}/plain`));
});

test("the host gets the redirect URL of an ending in a message, and does not navigate", async () => {
  const redirectUrl = `${host.origin}/elsewhere`;
  const { page, frame } = await embed({ ...SHORT, ending: { title: "Thanks", redirectUrl } }, { allowedOrigins: [host.origin] });
  await answerAll(frame, [["nps", "9"], ["name", "Ada"]]);
  await becomes(async () => (await messages(page, "sluice:submitted")).map(({ data }) => data.redirectUrl), [redirectUrl]);
  assert.ok(page.url().startsWith(host.origin) && !page.url().includes("elsewhere"));
  await becomes(() => frame.locator("main a").getAttribute("href"), redirectUrl);
});

for (const script of [true, false]) {
  test(`outside an embed the ending redirects automatically (${script ? "with" : "without"} script)`, async () => {
    host.put("/elsewhere", "<p>Elsewhere</p>");
    const flow = await world.flow({ ...SHORT, ending: { title: "Thanks", redirectUrl: `${host.origin}/elsewhere` } });
    const page = await world.visit(flow.path, { script });
    await answerAll(page, [["nps", "9"], ["name", "Ada"]], { send: false });
    await page.locator(".actions [value=send]").click();
    await page.waitForURL(`${host.origin}/elsewhere`);
    assert.equal((await world.responses(flow)).length, 1);
  });
}

test("the theme in the address overrides the reader's", async () => {
  const flow = await world.flow(SHORT);
  const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await background(await world.visit(flow.path, { theme: "dark" }));
  const light = await background(await world.visit(flow.path, { theme: "light" }));
  assert.notEqual(dark, light);
  assert.equal(await background(await world.visit(`${flow.path}?theme=light`, { theme: "dark" })), light);
  assert.equal(await background(await world.visit(`${flow.path}?theme=dark`, { theme: "light" })), dark);
});
