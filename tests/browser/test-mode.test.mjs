// Test mode: an author tries a draft with the whole way of a response, and nothing of it is counted.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { answerAll, goOn, sendAll } from "./support/answering.mjs";
import { agree, atDesk, checkFits, checkPage } from "./support/console.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld, WAYS } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());
const desk = await atDesk(world);

const BANNER = "Test: this answer is not counted.";
const SURVEY = {
  title: "Lunch", autoAdvance: false,
  questions: [
    { id: "mark", type: "singleChoice", prompt: "How was it?", required: true, options: [{ id: "good", label: "Good", score: 2 }, { id: "bad", label: "Bad", score: -1 }] },
    { id: "why", type: "shortText", prompt: "Why {{answer:mark}}?", visibleIf: { question: "mark", equals: "bad" } },
  ],
  endings: [{ id: "sad", when: { question: "mark", equals: "bad" }, title: "Sorry that it was {{answer:mark}}" }],
  ending: { title: "Great" },
};

/** A flow of a new app without spam protection. */
async function flowOf(options = {}) {
  const { appId } = await world.server.createApp("Canteen");
  await world.server.admin("PATCH", `/apps/${appId}`, { hosted: { spamProtection: false } });
  const { flowId } = await world.server.createFlow(appId, "Lunch", SURVEY, { publish: false, ...options });
  return { appId, flowId };
}

const testsOf = async (flowId) => (await world.server.admin("GET", `/flows/${flowId}/test-responses`)).items;

/** The test link on the tab "Share". */
async function linkOf(flowId) {
  const page = await desk.open(`/console/flows/${flowId}/share`);
  const link = await page.getByLabel("Answers from this link are tests and never counted").inputValue();
  await page.context().close();
  return link;
}

for (const way of WAYS) {
  test(`a draft is tried by its link, and nothing is counted (${way})`, async () => {
    const { flowId } = await flowOf();
    const page = await world.visit(await linkOf(flowId), way);
    const banner = page.locator("main > .notice").first();
    assert.equal((await banner.textContent()).trim(), BANNER);
    // The rules are those of the public page.
    await page.locator(".actions .primary").click();
    await page.locator("#q-mark .error").waitFor();
    assert.equal((await banner.textContent()).trim(), BANNER);
    await answerAll(page, [["mark", "bad"], ["why", "Cold."]]);
    await becomes(() => page.locator("h1").textContent(), "Sorry that it was Bad");
    await becomes(async () => (await page.locator("main > .notice").textContent()).trim(), BANNER);
    const [first, ...more] = await testsOf(flowId);
    assert.deepEqual([first.answers, first.score, first.number, more], [{ mark: "bad", why: "Cold." }, -1, null, []]);
    assert.deepEqual(await world.responses({ flowId }), []);
    // A new form is another test; a reload is none.
    await page.getByRole("link", { name: "Answer again" }).click();
    await answerAll(page, [["mark", "good"]], { send: false });
    // Without script, the page learns only now that this was the last question.
    if (!way.script) await goOn(page);
    await sendAll(page);
    await becomes(() => page.locator("h1").textContent(), "Great");
    assert.equal((await testsOf(flowId)).length, 2);
    const funnel = await world.server.admin("GET", `/flows/${flowId}/funnel`);
    assert.deepEqual([funnel.opened, funnel.started, funnel.finished], [0, 0, 0]);
    await checkFits(page, `${way}`);
    await page.context().close();
  });
}

test("an author tries the draft from the editor, sees the test, and deletes all tests", async () => {
  const { flowId } = await flowOf();
  const page = await desk.open(`/console/flows/${flowId}/edit`);
  await page.locator(".editor[data-ready]").waitFor();
  const opened = page.context().waitForEvent("page");
  await page.getByRole("link", { name: "Try it" }).click();
  const tried = await opened;
  await tried.locator("main > .notice").first().waitFor();
  assert.match(new URL(tried.url()).pathname, new RegExp(`^/f/${flowId}/test/v1\\.`));
  await answerAll(tried, [["mark", "good"]]);
  await page.goto(world.address(`/console/flows/${flowId}/responses`));
  await page.getByRole("link", { name: "Tests", exact: true }).click();
  await page.getByText("1 test response.").waitFor();
  await matches(() => page.locator("tbody tr").innerText(), /Draft[\s\S]*2[\s\S]*Good/);
  await page.getByRole("button", { name: "Delete all test responses" }).click();
  await page.locator("dialog.ask[open]").getByRole("button", { name: "Cancel" }).click();
  assert.equal((await testsOf(flowId)).length, 1);
  await page.getByRole("button", { name: "Delete all test responses" }).click();
  await agree(page);
  await page.getByText("All test responses are deleted.").waitFor();
  await page.getByText("No test responses").waitFor();
  assert.deepEqual(await testsOf(flowId), []);
  await page.context().close();
});

test("the pages with tests and labels fit, and pass axe", async () => {
  const { appId, flowId } = await flowOf({ publish: true });
  await world.server.admin("PATCH", `/flows/${flowId}`, { labels: ["Team A", "Q4", "A longer label of thirty chars"] });
  const link = await linkOf(flowId);
  for (const answers of [[["mark", "bad"], ["why", "It was cold, and it took too long."]], [["mark", "good"]]]) {
    const page = await world.visit(link);
    await answerAll(page, answers);
    await page.context().close();
  }
  for (const [name, path] of [["tests", `/console/flows/${flowId}/responses/tests`], ["labels", `/console/apps/${appId}`], ["share", `/console/flows/${flowId}/share`], ["labelled", `/console/apps/${appId}?label=Q4`], ["page", link]]) {
    const page = await desk.open(path);
    await checkPage(page, `test mode ${name}`);
    await page.context().close();
  }
});

test("labels are set in the list and in the settings, and filter the list", async () => {
  const { appId, flowId } = await flowOf();
  const other = await world.server.createFlow(appId, "Dinner", { ...SURVEY, title: "Dinner" }, { publish: false });
  const page = await desk.open(`/console/apps/${appId}`);
  await page.getByLabel("More actions for Lunch").click();
  await page.getByRole("link", { name: "Labels…" }).first().click();
  const dialog = page.locator("dialog.ask[open]");
  await dialog.getByLabel("Labels", { exact: true }).fill("Team A, Q4");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await page.getByRole("list", { name: "Labels" }).getByRole("link", { name: "Q4" }).click();
  await matches(() => page.url(), /\?label=Q4$/);
  await becomes(() => page.locator(".flow h2").allTextContents(), ["Lunch"]);
  await page.getByRole("link", { name: /Label “Q4”/ }).click();
  await becomes(() => page.locator(".flow h2").count(), 2);
  // In the settings they are saved automatically.
  await page.goto(world.address(`/console/flows/${other.flowId}/edit`));
  await page.locator(".editor[data-ready]").waitFor();
  await page.locator("[data-shows-section=schedule]").click();
  await page.getByLabel("Labels", { exact: true }).fill("Q4");
  await page.getByLabel("Labels", { exact: true }).press("Tab");
  await becomes(async () => (await world.server.admin("GET", `/flows/${other.flowId}`)).labels, ["Q4"]);
  await page.locator("#saving[data-state=saved]").waitFor();
  await page.goto(world.address(`/console/apps/${appId}?label=Q4`));
  assert.deepEqual(await page.locator(".flow h2").allTextContents(), ["Dinner", "Lunch"]);
  await page.context().close();
});
