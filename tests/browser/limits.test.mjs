// A flow that accepts only so many responses: set in the console, and met by respondents.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { answerAll, press, sendAll } from "./support/answering.mjs";
import { atDesk, checkPage } from "./support/console.mjs";
import { becomes } from "./support/until.mjs";
import { openWorld, WAYS } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());
const desk = await atDesk(world);

const PANEL = {
  title: "Panel",
  questions: [
    { id: "plan", type: "singleChoice", prompt: "Which plan?", required: true, options: [{ id: "free", label: "Free" }, { id: "pro", label: "Pro" }] },
  ],
};
const ANSWER = [["plan", "free"]];
const flowOf = async ({ flowId }) => world.server.admin("GET", `/flows/${flowId}`);
const limit = (flow, patch) => world.server.admin("PATCH", `/flows/${flow.flowId}`, patch);
const closed = (page) => page.locator("main[data-state=closed]").waitFor();

for (const way of WAYS) {
  test(`the respondent after the last one learns that the survey is closed (${way})`, async () => {
    const flow = await world.flow(PANEL);
    await limit(flow, { closeAfter: 1 });
    const [first, second] = [await world.visit(flow.path, way), await world.visit(flow.path, way)];
    await answerAll(second, ANSWER, { send: false });
    await answerAll(first, ANSWER);
    await first.locator("main[data-state=stored]").waitFor();
    await press(second, "send");
    await closed(second);
    await closed(await world.visit(flow.path, way));
    assert.equal((await world.responses(flow)).length, 1);
  });
}

test("a quota is chosen from the answers, and shows how many there are", async () => {
  const flow = await world.flow(PANEL);
  const page = await desk.open(`/console/flows/${flow.flowId}/edit#schedule`);
  await page.locator(".editor[data-ready]").waitFor();
  await page.getByLabel("Close after this many responses").fill("200");
  await page.getByText("New quota").click();
  await page.locator("#newQuota").getByText("Free").click();
  await page.getByLabel("Number of responses").fill("1");
  await page.getByRole("button", { name: "Add quota" }).click();
  await page.getByLabel("Quota: “Which plan?” is “Free”").waitFor();
  await page.getByText("0 of 200 responses so far").waitFor();
  assert.deepEqual((await flowOf(flow)).quotas.map(({ when, limit }) => [when, limit]), [[{ question: "plan", equals: "free" }, 1]]);
  const visitor = await world.visit(flow.path);
  await answerAll(visitor, ANSWER, { send: false });
  await sendAll(visitor);
  await page.reload();
  await page.locator(".editor[data-ready]").waitFor();
  await page.getByText("1 of 200 responses so far").waitFor();
  await page.getByText("1 of 1 responses so far").waitFor();
  // An empty number removes the limit.
  await page.getByLabel("Quota: “Which plan?” is “Free”").fill("");
  await page.keyboard.press("Tab");
  await becomes(async () => (await flowOf(flow)).quotas, []);
  await becomes(() => page.getByLabel("Quota: “Which plan?” is “Free”").count(), 0);
});

test("a quota that is added while something else is being saved is stored, and shown once", async () => {
  const flow = await world.flow(PANEL);
  const page = await desk.open(`/console/flows/${flow.flowId}/edit#schedule`);
  await page.locator(".editor[data-ready]").waitFor();
  let release;
  const isReleased = new Promise((resolve) => (release = resolve));
  let saves = 0;
  await page.route("**/schedule", async (route) => {
    saves += 1;
    await isReleased;
    await route.continue();
  });
  await page.getByLabel("Close after this many responses").fill("200");
  await page.getByText("New quota").click();
  await becomes(() => saves, 1);
  await page.locator("#newQuota").getByText("Free").click();
  await page.getByLabel("Number of responses").fill("1");
  await page.getByRole("button", { name: "Add quota" }).click();
  release();
  await page.getByLabel("Quota: “Which plan?” is “Free”").waitFor();
  await becomes(async () => { const { closeAfter, quotas } = await flowOf(flow); return [closeAfter, quotas.length]; }, [200, 1]);
  await page.locator("#saving[data-state=saved]").waitFor();
  assert.equal(await page.locator("#newQuota :checked").count(), 0, "nothing is left to add");
});

test("the limits fit and are accessible", async () => {
  const flow = await world.flow(PANEL);
  await limit(flow, { closeAfter: 200, quotas: [{ id: "free", when: { question: "plan", equals: "free" }, limit: 50 }] });
  const page = await desk.open(`/console/flows/${flow.flowId}/edit#schedule`);
  await page.locator(".editor[data-ready]").waitFor();
  await page.getByText("0 of 50 responses so far").waitFor();
  await checkPage(page, "limits");
});
