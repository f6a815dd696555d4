// A version is published, a window ends, a flow is archived: while the page is open, or before.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { SHORT } from "./support/flows.mjs";
import { goOn, press, sendAll, shown, answerAll } from "./support/answering.mjs";
import { becomes, matches, until } from "./support/until.mjs";
import { openWorld, WAYS } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());

const NEWER = {
  ...SHORT,
  questions: [...SHORT.questions.slice(0, 2), { id: "city", type: "shortText", prompt: "Your city", required: true },
    { id: "name", type: "shortText", prompt: "Your full name" }],
};

for (const way of WAYS) {
  test(`a version published meanwhile, with a grace window: the response is stored for the old one (${way})`, async () => {
    const flow = await world.flow(SHORT);
    const page = await world.visit(flow.path, way);
    await answerAll(page, [["nps", "9"], ["name", "Ada"]], { send: false });
    await world.publish(flow, NEWER);
    await sendAll(page);
    const [{ answers, flowVersionId }] = await world.responses(flow);
    assert.deepEqual(answers, { nps: "9", name: "Ada" });
    assert.equal(flowVersionId, flow.flowVersionId);
  });

  test(`a version published meanwhile, without a grace window: the answers are carried over to the new one (${way})`, async () => {
    const flow = await world.flow(SHORT);
    await world.server.admin("PATCH", `/flows/${flow.flowId}`, { graceWindowSeconds: 0 });
    const page = await world.visit(flow.path, way);
    await answerAll(page, [["nps", "9"], ["name", "Ada"]], { send: false });
    const newer = await world.publish(flow, NEWER);
    await press(page, "send");
    await page.locator(".notice").waitFor();
    assert.deepEqual(await world.responses(flow), []);
    await page.waitForLoadState("load");
    await shown(page).waitFor();
    // From the step where the server restarts, to the new question.
    for (const id of ["nps", "city", "name"]) {
      if (!(await page.locator(`#q-${id}`).isVisible())) continue;
      if (id === "city") await page.locator("#q-city .text").fill("London");
      if (id === "name") await becomes(() => page.locator("#q-name .text").inputValue(), "Ada");
      if (id !== "name") {
        await goOn(page);
        await page.locator(id === "nps" ? "#q-city" : "#q-name").waitFor();
      }
    }
    await sendAll(page);
    const [{ answers, flowVersionId }] = await world.responses(flow);
    assert.deepEqual(answers, { nps: "9", city: "London", name: "Ada" });
    assert.equal(flowVersionId, newer);
  });
}

const soon = new Date(Date.now() + 86_400_000);
const before = new Date(Date.now() - 86_400_000);

for (const [title, state, arrange] of [
  ["a flow that opens tomorrow", "scheduled", { liveWindow: { startsAt: soon.toISOString(), endsAt: null } }],
  ["a flow that has closed", "closed", { liveWindow: { startsAt: null, endsAt: before.toISOString() } }],
]) {
  test(`${title} shows the time in the reader's time zone`, async () => {
    const flow = await world.flow(SHORT);
    await world.server.admin("PATCH", `/flows/${flow.flowId}`, arrange);
    const time = state === "scheduled" ? soon : before;
    const clock = time.toLocaleTimeString("en-GB", { timeZone: "Europe/Berlin", hour: "2-digit", minute: "2-digit" });
    const page = await world.visit(flow.path);
    await page.locator(`main[data-state=${state}] h1`).waitFor();
    const isSummer = !time.toLocaleTimeString("en-GB", { timeZone: "Europe/Berlin", timeZoneName: "longOffset" }).endsWith("+01:00");
    const zone = isSummer ? /CEST|GMT\+2/ : /CET|GMT\+1/;
    await until(async () => {
      const text = await page.locator("time").innerText();
      assert.ok(text.includes(clock) && zone.test(text), `${text} should say ${clock} in Berlin`);
    });
    const plain = await world.visit(flow.path, { script: false });
    await matches(() => plain.locator("time").innerText(), /UTC/);
  });
}

test("a survey that closes while it is answered shows that it is closed", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  await answerAll(page, [["nps", "9"], ["name", "Ada"]], { send: false });
  await world.server.admin("PATCH", `/flows/${flow.flowId}`, { liveWindow: { startsAt: null, endsAt: before.toISOString() } });
  await page.locator(".actions [value=send]").click();
  await page.locator("main[data-state=closed]").waitFor();
  assert.deepEqual(await world.responses(flow), []);
});

test("a flow that does not exist, or was archived, shows a page with an explanation", async () => {
  const flow = await world.flow(SHORT);
  await world.server.admin("DELETE", `/flows/${flow.flowId}`);
  for (const path of [flow.path, "/f/fl_0000000000000000000000", "/f/nothing"]) {
    const page = await world.visit(path);
    await page.locator("main[data-state=missing] h1").waitFor();
  }
});

test("a GET never stores anything, whatever its address", async () => {
  const flow = await world.flow(SHORT);
  await world.visit(`${flow.path}?answers.nps=9&go=send&version=${flow.flowVersionId}&key=f_1`);
  assert.deepEqual(await world.responses(flow), []);
});
