// What an author learns about problems of a draft: when, in which words, and where to fix them.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { atDesk, checkAccess } from "./support/console.mjs";
import { becomes } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());
const desk = await atDesk(world);

const LINKED = {
  title: "Lunch",
  questions: [
    { id: "taste", type: "rating", prompt: "How was it?" },
    { id: "why", type: "longText", prompt: "Why?", visibleIf: { question: "taste", lessThan: 3 } },
  ],
  endings: [{ id: "low", title: "Sorry", when: { question: "taste", lessThan: 3 } }],
};

async function edit(definition) {
  const { appId } = await world.server.createApp("Canteen");
  const { flowId } = await world.server.createFlow(appId, definition.title, definition, { publish: false });
  const page = await desk.open(`/console/flows/${flowId}/edit`);
  await page.locator(".editor[data-ready]").waitFor();
  return { page, flowId };
}

const at = (page, pointer) => page.locator(`[data-pointer="${pointer}"]`);
const listed = (page) => page.locator("#faults li").allInnerTexts();
const focused = (page) => page.evaluate(() => document.activeElement.closest("[data-pointer]")?.dataset.pointer);
const BROKEN = ["Question 1 “Why?”, condition: depends on a question that was deleted", "Ending 1 “Sorry”, condition: depends on a question that was deleted"];

test("deleting a question says what used it, and the review leads to each place", async () => {
  const { page, flowId } = await edit(LINKED);
  await page.locator(".item").first().getByRole("button", { name: "Delete" }).click();
  await page.getByText("“How was it?” was deleted. Two conditions used it.").waitFor();
  await becomes(() => listed(page), BROKEN);
  await page.goto(world.address(`/console/flows/${flowId}/share`));
  await page.getByRole("link", { name: "Publish", exact: true }).click();
  const dialog = page.locator("dialog.ask[open]");
  await dialog.getByRole("heading", { name: "Fix 2 problems first" }).waitFor();
  assert.deepEqual(await dialog.locator("li").allInnerTexts(), BROKEN);
  await checkAccess(page, "problems before publishing");
  await dialog.getByRole("link", { name: /^Ending 1/ }).click();
  await page.locator(".editor[data-ready]").waitFor();
  await becomes(() => focused(page), "/endings/0/when");
});

test("a new flow starts with one button, and shows problems once they matter", async () => {
  const { page, flowId } = await edit({ title: "Untitled", questions: [] });
  assert.equal(await page.locator("#faults").isVisible(), false);
  await page.getByLabel("Title", { exact: true }).first().fill("Supper");
  await becomes(() => page.locator("nav[aria-label=Flows] [aria-current=page] .name").innerText(), "Supper");
  await page.getByRole("link", { name: "Publish", exact: true }).click();
  await becomes(() => listed(page), ["Questions: add a question, or a description"]);
  await becomes(() => page.evaluate(() => document.activeElement.textContent), "+ Add question");
  await page.reload();
  await page.getByRole("button", { name: "+ Add question" }).click();
  await page.locator(".kind[data-type=singleChoice]").click();
  const draft = async () => (await world.server.admin("GET", `/flows/${flowId}/draft`)).definition;
  await becomes(async () => (await draft()).questions[0]?.options.map(({ label }) => label), ["", ""]);
  await page.locator("#saving[data-state=saved]").waitFor();
  assert.equal(await page.locator("#faults").isVisible(), false, "it is still being written");
  await page.getByRole("link", { name: "Publish", exact: true }).click();
  await becomes(() => listed(page), ["Question 1, text: must not be empty", "Question 1, option 1: must not be empty", "Question 1, option 2: must not be empty"]);
  await at(page, "/questions/0/prompt").fill("Which?");
  await at(page, "/questions/0/options/0/label").evaluate((field) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "Soup\nSalad\nStew");
    field.focus();
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  await becomes(async () => (await draft()).questions[0].options.map(({ label }) => label), ["Soup", "Salad", "Stew"]);
  await becomes(() => page.locator("#faults").isVisible(), false);
});
