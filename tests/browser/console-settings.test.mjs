// The settings of a flow while two people have them open: what one saves stays when the other saves something else.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { atDesk, checkPage } from "./support/console.mjs";
import { becomes, until } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());
const desk = await atDesk(world);

const options = (...labels) => labels.map((label) => ({ id: label.toLowerCase(), label }));
const PANEL = {
  title: "Panel",
  questions: [
    { id: "plan", type: "singleChoice", prompt: "Which plan?", options: options("Free", "Pro", "Team") },
    { id: "use", type: "multipleChoice", prompt: "What do you use?", options: options("Phone", "Desktop") },
  ],
};

const flowNow = (flow) => world.server.admin("GET", `/flows/${flow.flowId}`);
const saved = (page) => page.locator("#saving[data-state=saved]").waitFor();
const stateOf = (page) => page.locator("#title-row .state").textContent();
async function settings(flow) {
  const page = await desk.open(`/console/flows/${flow.flowId}/edit#schedule`);
  await page.locator(".editor[data-ready]").waitFor();
  return page;
}
const rename = async (page, name) => {
  await page.getByLabel("Internal name").fill(name);
  await page.getByLabel("Internal name").press("Tab");
};
async function closeNow(page) {
  await page.locator(".flow-top summary").click();
  await page.locator(".flow-top .list").getByText("Close now").click();
  await page.getByText("Closed. The flow accepts no more responses.").waitFor();
}

test("a flow that a colleague closed stays closed when an open editor saves something else", async () => {
  const flow = await world.flow(PANEL);
  const [mine, theirs] = [await settings(flow), await settings(flow)];
  await closeNow(theirs);
  const { liveWindow } = await flowNow(flow);
  assert.ok(liveWindow.endsAt);
  await rename(mine, "Panel 2036");
  await becomes(async () => (await flowNow(flow)).name, "Panel 2036");
  assert.deepEqual((await flowNow(flow)).liveWindow, liveWindow);
  // The page now shows what is stored.
  await becomes(() => stateOf(mine), "Closed");
  await until(async () => assert.notEqual(await mine.getByLabel("Ends").inputValue(), ""));
  // Clearing the end opens the flow again: that is a change of what is shown.
  await mine.getByLabel("Ends").fill("");
  await mine.getByLabel("Ends").press("Tab");
  await becomes(async () => (await flowNow(flow)).liveWindow.endsAt, null);
  await becomes(() => stateOf(mine), "Open");
});

test("a start and an end that two people set both stand", async () => {
  const flow = await world.flow(PANEL);
  const [mine, theirs] = [await settings(flow), await settings(flow)];
  await mine.getByLabel("Starts").fill("2026-01-01T09:00");
  await mine.getByLabel("Starts").press("Tab");
  await becomes(async () => (await flowNow(flow)).liveWindow.startsAt, "2026-01-01T08:00:00.000Z");
  await theirs.getByLabel("Ends").fill("2036-01-01T09:00");
  await theirs.getByLabel("Ends").press("Tab");
  await becomes(async () => (await flowNow(flow)).liveWindow, { startsAt: "2026-01-01T08:00:00.000Z", endsAt: "2036-01-01T08:00:00.000Z" });
  await becomes(() => theirs.getByLabel("Starts").inputValue(), "2026-01-01T09:00");
});

test("without JavaScript, a form changes only what differs from what it showed", async () => {
  const flow = await world.flow(PANEL);
  const page = await desk.open(`/console/flows/${flow.flowId}/edit`, { script: false });
  await closeNow(await settings(flow));
  const { liveWindow } = await flowNow(flow);
  await page.getByLabel("Internal name").fill("Panel 2036");
  await page.getByRole("button", { name: "Save settings" }).click();
  await page.getByText("Saved", { exact: false }).first().waitFor();
  const now = await flowNow(flow);
  assert.deepEqual([now.name, now.liveWindow], ["Panel 2036", liveWindow]);
});

test("an action in the header applies to settings that were just typed", async () => {
  const flow = await world.flow(PANEL);
  const page = await settings(flow);
  // The field keeps the focus, so nothing has saved it yet.
  await page.getByLabel("Close after this many responses").fill("77");
  await page.evaluate(() => document.querySelector('.flow-top form[action$="/close"]').requestSubmit());
  await page.getByText("Closed. The flow accepts no more responses.").waitFor();
  const now = await flowNow(flow);
  assert.equal(now.closeAfter, 77);
  assert.ok(now.liveWindow.endsAt);
});

test("settings with errors are shown before an action of the header", async () => {
  const flow = await world.flow(PANEL);
  const page = await settings(flow);
  await page.getByLabel("Close after this many responses").fill("0");
  await page.locator("[data-shows-section=questions]").click();
  await page.locator(".flow-top summary").click();
  await page.locator(".flow-top .list").getByText("Close now").click();
  await page.getByText("The settings have errors and are not saved. Fix them first.").waitFor();
  await page.locator("#closeAfter-error").waitFor();
  assert.equal((await flowNow(flow)).liveWindow.endsAt, null);
  await page.getByLabel("Close after this many responses").fill("");
  await page.getByLabel("Close after this many responses").press("Tab");
  await saved(page);
});

test("a quota counts several answers: any of one question, and each question", async () => {
  const flow = await world.flow(PANEL);
  const page = await settings(flow);
  await page.getByText("New quota").click();
  await page.getByRole("button", { name: "Add quota" }).click();
  await page.getByText("Choose at least one answer.").waitFor();
  for (const answer of ["Free", "Team", "Phone"]) await page.locator("#newQuota").getByText(answer, { exact: true }).click();
  // Choosing answers alone stores nothing, and a save of something else keeps them.
  await rename(page, "Panel 2036");
  await becomes(async () => (await flowNow(flow)).name, "Panel 2036");
  await saved(page);
  assert.deepEqual((await flowNow(flow)).quotas, []);
  assert.equal(await page.locator("#newQuota :checked").count(), 3);
  await page.getByLabel("Number of responses").fill("1");
  await page.getByRole("button", { name: "Add quota" }).click();
  const plans = { question: "plan", in: ["free", "team"] };
  const when = { all: [plans, { question: "use", includes: "phone" }] };
  await becomes(async () => (await flowNow(flow)).quotas.map((quota) => [quota.when, quota.limit]), [[when, 1]]);
  await page.getByLabel("Quota: “Which plan?” is").waitFor();
  await becomes(() => page.locator("#newQuota :checked").count(), 0);
  const send = async (plan, use) => {
    const body = { flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers: { plan, use } };
    const reply = await fetch(`${flow.base}/trpc/response.submit`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    return (await reply.text()).includes("quota_full");
  };
  assert.equal(await send("pro", ["phone"]), false);
  assert.equal(await send("free", ["desktop"]), false);
  assert.equal(await send("team", ["phone", "desktop"]), false);
  assert.equal(await send("free", ["phone"]), true);
  assert.equal((await world.responses(flow)).length, 3);
});

test("choosing a quota fits and is accessible", async () => {
  const page = await settings(await world.flow(PANEL));
  await page.getByText("New quota").click();
  await checkPage(page, "new quota");
});
