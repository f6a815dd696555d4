// One person, one response, whatever they click and whatever the network does.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { startServer } from "../clients/server.mjs";
import { SHORT } from "./support/flows.mjs";
import { sendAll, shownId, answerAll } from "./support/answering.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld, WAYS } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());

const ANSWERS = [["nps", "9"], ["name", "Ada"]];
const sendButton = (page) => page.locator(".actions [value=send]");
/** The ending is shown, and a reload shows it again. */
async function stored(page) {
  await page.locator("main[data-state=stored]").waitFor();
  await page.waitForURL("**/done?*");
}

async function checkOne(flow) {
  const responses = await world.responses(flow);
  assert.deepEqual(responses.map(({ answers }) => answers), [{ nps: "9", name: "Ada" }]);
}

for (const way of WAYS) {
  test(`a double click stores one response (${way})`, async () => {
    const flow = await world.flow(SHORT);
    const page = await world.visit(flow.path, way);
    await answerAll(page, ANSWERS, { send: false });
    await sendButton(page).dblclick();
    await stored(page);
    await checkOne(flow);
  });

  test(`a reload of the ending stores nothing more (${way})`, async () => {
    const flow = await world.flow(SHORT);
    const page = await world.visit(flow.path, way);
    await answerAll(page, ANSWERS);
    await stored(page);
    await page.reload();
    await stored(page);
    await checkOne(flow);
  });

  test(`going back from the ending and sending again stores nothing more (${way})`, async () => {
    const flow = await world.flow(SHORT);
    const page = await world.visit("/healthz", way);
    await page.goto(world.address(flow.path));
    await answerAll(page, ANSWERS);
    await stored(page);
    await page.goBack();
    if (way.script) {
      // The steps are no longer in the history: one press of Back leaves the survey.
      await becomes(() => new URL(page.url()).pathname, "/healthz");
      await page.goForward();
      await stored(page);
    } else {
      await sendAll(page);
    }
    await checkOne(flow);
  });
}

test("the browser's Back and Forward go from question to question", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  await answerAll(page, ANSWERS, { send: false });
  await page.goBack();
  await page.locator("#q-nps").waitFor();
  await page.goForward();
  await page.locator("#q-name").waitFor();
  await becomes(() => page.locator("#q-name .text").inputValue(), "Ada");
  await sendAll(page);
  await checkOne(flow);
});

test("a draft survives a reload and a closed tab, and is removed when it is stored", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  await answerAll(page, ANSWERS, { send: false });
  await page.reload();
  await becomes(() => shownId(page), "name");
  await becomes(() => page.locator("#q-name .text").inputValue(), "Ada");
  const tab = await page.context().newPage();
  await page.close();
  await tab.goto(world.address(flow.path));
  await becomes(() => shownId(tab), "name");
  await tab.locator(".notice.live").waitFor();
  await sendAll(tab);
  await checkOne(flow);
  await tab.goto(world.address(flow.path));
  await becomes(() => shownId(tab), "nps");
  await becomes(() => tab.locator(":checked").count(), 0);
});

test("starting over discards the draft", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  await answerAll(page, ANSWERS, { send: false });
  await page.reload();
  await page.locator(".notice.live button").click();
  await page.locator("#q-nps").waitFor();
  await becomes(() => page.locator("input:checked").count(), 0);
  await becomes(() => page.locator("#q-name .text").inputValue(), "");
});

test("a draft of one address is not shown at another", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(`${flow.path}?flowAssignmentId=one`);
  await answerAll(page, ANSWERS, { send: false });
  await page.goto(world.address(`${flow.path}?flowAssignmentId=two`));
  await becomes(() => shownId(page), "nps");
  await becomes(() => page.locator("input:checked").count(), 0);
});

test("offline, the answers are kept, and sent when the connection is back", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  await answerAll(page, ANSWERS, { send: false });
  await page.context().setOffline(true);
  await sendButton(page).click();
  await page.locator(".notice.live").waitFor();
  assert.deepEqual(await world.responses(flow), []);
  await page.context().setOffline(false);
  await stored(page);
  await checkOne(flow);
});

test("a submission whose reply is lost is retried, and one response is stored", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  await answerAll(page, ANSWERS, { send: false });
  let lost = 0;
  await page.route(`**${flow.path}*`, async (route) => {
    if (route.request().method() !== "POST" || lost++ > 0) return route.continue();
    await route.fetch({ maxRedirects: 0 });
    await route.abort("connectionreset");
  });
  await sendButton(page).click();
  await page.locator(".notice.live").waitFor();
  await checkOne(flow);
  await stored(page);
  assert.equal(lost, 2);
  await checkOne(flow);
});

test("beyond a limit, the form stays with a notice of when to try again, and one response is stored", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  await answerAll(page, ANSWERS, { send: false });
  const waits = [[30, /Try again in 30 seconds\.$/], [150, /Try again in 3 minutes\.$/], [86_400, /Try again in 24 hours\.$/]];
  let posts = 0;
  await page.route(`**${flow.path}*`, (route) => {
    if (route.request().method() !== "POST" || posts >= waits.length) return route.continue();
    const headers = { "retry-after": String(waits[posts++][0]) };
    return route.fulfill({ status: 429, headers, contentType: "application/problem+json", body: "{}" });
  });
  await sendButton(page).click();
  for (const [, text] of waits) {
    await matches(() => page.locator(".notice.live p").innerText(), text);
    await matches(() => page.locator(".notice.live p").innerText(), /Your answers are still here\./);
    await page.locator(".notice.live button").click();
  }
  await stored(page);
  await checkOne(flow);
});

test("a reload while the reply is outstanding, and sending again, stores one response", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  await answerAll(page, ANSWERS, { send: false });
  let posts = 0;
  const arrived = new Promise((done) => page.route(`**${flow.path}*`, async (route) => {
    if (route.request().method() !== "POST" || posts++ > 0) return route.continue();
    await route.fetch({ maxRedirects: 0 });
    done();
  }));
  await sendButton(page).click();
  await arrived;
  await checkOne(flow);
  await page.reload();
  await sendAll(page);
  await checkOne(flow);
});

test("a server that is killed and restarted during a submission stores one response", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  await answerAll(page, ANSWERS, { send: false });
  const settings = await world.server.kill();
  await sendButton(page).click();
  await page.locator(".notice.live").waitFor();
  world.server = await startServer(settings);
  await stored(page);
  await checkOne(flow);
});

test("the same key with other answers is reported as already answered", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  const copy = await page.context().newPage();
  await copy.goto(world.address(flow.path));
  const key = await page.locator("[name=key]").inputValue();
  await answerAll(page, ANSWERS);
  await copy.locator("[name=key]").evaluate((field, value) => (field.value = value), key);
  await answerAll(copy, [["nps", "10"], ["name", "Bob"]], { send: false });
  await sendButton(copy).click();
  await copy.locator("main[data-state=answered]").waitFor();
  await checkOne(flow);
  // Answering again works: neither the used key nor the draft prevents it.
  await copy.locator("main[data-state=answered] a").click();
  await answerAll(copy, [["nps", "10"], ["name", "Bob"]]);
  await stored(copy);
  assert.equal((await world.responses(flow)).length, 2);
});

test("a form that is sent too quickly must be sent again, and no answers are lost", async () => {
  const flow = await world.flow(SHORT, { app: { hosted: { spamProtection: true } } });
  for (const script of [true, false]) {
    const page = await world.visit(flow.path, { script });
    await answerAll(page, ANSWERS, { send: false });
    await page.locator("[name=website]").evaluate((field) => (field.value = "https://spam.example"));
    await sendButton(page).click();
    await page.locator(".notice").waitFor();
    assert.equal((await world.responses(flow)).length, script ? 0 : 1);
    await page.waitForTimeout(2000);
    await page.locator("[name=website]").evaluate((field) => (field.value = ""));
    await sendAll(page);
  }
  assert.deepEqual((await world.responses(flow)).map(({ answers }) => answers), [{ nps: "9", name: "Ada" }, { nps: "9", name: "Ada" }]);
});
