// Several questions on one page in the editor, and a preview that shows what is being edited.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { atDesk, checkPage } from "./support/console.mjs";
import { becomes } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());
const desk = await atDesk(world);

const text = (id, prompt) => ({ id, type: "shortText", prompt });
const SURVEY = {
  title: "Lunch",
  questions: [text("first", "First?"), text("second", "Second?"), text("third", "Third?"), text("fourth", "Fourth?")],
};

async function edit(definition = SURVEY) {
  const { appId } = await world.server.createApp("Canteen");
  const { flowId } = await world.server.createFlow(appId, definition.title, definition, { publish: false });
  const page = await desk.open(`/console/flows/${flowId}/edit`);
  await page.locator(".editor[data-ready]").waitFor();
  return { page, flowId };
}
const draftOf = async (flowId) => (await world.server.admin("GET", `/flows/${flowId}/draft`)).definition;
const groups = async (flowId) => ((await draftOf(flowId)).sections ?? []).map(({ questions }) => questions.join(" "));
const open = (page, n) => page.locator(".item").nth(n).locator(".open").click();
const item = (page, n) => page.locator(".item").nth(n);
const preview = (page) => page.frameLocator("#preview-pane iframe");
const shownPrompts = async (page) => {
  const texts = await preview(page).locator(".question:not([hidden])").allInnerTexts();
  return texts.map((text) => /\S+\?/.exec(text)?.[0]);
};
const samePage = (page) => page.getByLabel("On the same page as the question before");
const at = (page, pointer) => page.locator(`[data-pointer="${pointer}"]`);

async function drag(page, from, to, { below = false } = {}) {
  // A hover waits until the grip stops moving.
  await item(page, from).locator(".head .grip").hover();
  const grip = await item(page, from).locator(".head .grip").boundingBox();
  const target = await item(page, to).locator(".head").boundingBox();
  await page.mouse.move(grip.x + grip.width / 2, grip.y + grip.height / 2);
  await page.mouse.down();
  await page.mouse.move(target.x + 20, target.y + (below ? target.height : 0), { steps: 12 });
  await page.mouse.up();
}

test("a question joins the page of the one before, gets a title, and the preview shows them together", async () => {
  const { page, flowId } = await edit();
  assert.equal(await samePage(page).count(), 0, "the first question has none before it");
  await open(page, 1);
  await samePage(page).check();
  await becomes(() => groups(flowId), ["first second"]);
  await becomes(() => shownPrompts(page), ["First?", "Second?"]);
  await page.getByLabel("Section title").fill("About you");
  await becomes(async () => (await draftOf(flowId)).sections[0].title, "About you");
  await preview(page).getByText("About you").waitFor();
  await page.getByText("2 questions on one page").waitFor();
  // The next question joins the same section; a split in the middle makes two.
  await open(page, 2);
  await samePage(page).check();
  await open(page, 3);
  await samePage(page).check();
  await becomes(() => groups(flowId), ["first second third fourth"]);
  await open(page, 2);
  await samePage(page).uncheck();
  await becomes(() => groups(flowId), ["first second", "third fourth"]);
  assert.equal((await draftOf(flowId)).sections[0].title, "About you");
  await becomes(() => shownPrompts(page), ["Third?", "Fourth?"]);
});

test("sections are undone and redone, and ungrouped with one click", async () => {
  const { page, flowId } = await edit();
  await open(page, 1);
  await samePage(page).check();
  await becomes(() => groups(flowId), ["first second"]);
  await page.locator("[data-undo]").click();
  await becomes(() => groups(flowId), []);
  await page.locator("[data-redo]").click();
  await becomes(() => groups(flowId), ["first second"]);
  await page.getByRole("button", { name: "Ungroup: one question per page" }).click();
  await becomes(() => groups(flowId), []);
  await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await becomes(() => groups(flowId), ["first second"]);
});

test("a question that is dragged between the questions of a section joins it, and leaves it again", async () => {
  const { page, flowId } = await edit({ ...SURVEY, sections: [{ id: "you", title: "You", questions: ["first", "second"] }] });
  await open(page, 0);
  // All items are closed, so that they are small.
  await becomes(() => page.locator(".item.chosen").count(), 0);
  await drag(page, 3, 1);
  await becomes(async () => (await draftOf(flowId)).questions.map(({ id }) => id), ["first", "fourth", "second", "third"]);
  await becomes(() => groups(flowId), ["first fourth second"]);
  await drag(page, 1, 3, { below: true });
  await becomes(async () => (await draftOf(flowId)).questions.map(({ id }) => id), ["first", "second", "third", "fourth"]);
  await becomes(() => groups(flowId), ["first second"]);
  // With the keyboard, within the section: the order changes, the section stays.
  await item(page, 0).locator(".open").focus();
  await page.keyboard.press("Alt+ArrowDown");
  await becomes(() => groups(flowId), ["second first"]);
  await becomes(() => page.locator("#announcer").textContent(), "“First?” is now question 2 of 4, on one page with another question.");
});

test("a deleted, duplicated or renamed question keeps its section valid", async () => {
  const { page, flowId } = await edit({ ...SURVEY, sections: [{ id: "you", questions: ["first", "second"] }] });
  await open(page, 1);
  await page.getByRole("button", { name: "Duplicate" }).click();
  await becomes(() => groups(flowId), ["first second second-2"]);
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await becomes(() => groups(flowId), ["first second"]);
  await open(page, 1);
  await page.getByText("Type and ID").click();
  await page.getByLabel("ID", { exact: true }).fill("renamed");
  await page.getByLabel("ID", { exact: true }).press("Tab");
  await becomes(() => groups(flowId), ["first renamed"]);
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  // A section of one question without a title has no effect.
  await becomes(() => groups(flowId), []);
  await becomes(() => page.locator("#faults").isHidden(), true);
});

const SCREENS = {
  ...SURVEY,
  welcome: { title: "Hello there", buttonText: "Let us start" },
  ending: { title: "Goodbye" },
  endings: [{ id: "sad", title: "What a pity", when: { question: "first", equals: "no" } }],
  translations: { de: { ending: { title: "Auf Wiedersehen" }, questions: { second: { prompt: "Zweitens?" } } } },
};

test("the preview shows the welcome screen and each ending while they are edited", async () => {
  const { page } = await edit(SCREENS);
  await preview(page).getByText("First?").waitFor();
  await page.locator("[data-shows-section=texts]").click();
  await at(page, "/welcome/title").fill("Good morning");
  await preview(page).getByText("Good morning").waitFor();
  await preview(page).getByRole("button", { name: "Let us start" }).waitFor();
  await at(page, "/ending/title").focus();
  await preview(page).getByText("Goodbye").waitFor();
  await at(page, "/endings/0/title").fill("So sorry");
  await preview(page).getByText("So sorry").waitFor();
  // A control of the same ending that has no text keeps it.
  await page.getByRole("button", { name: "Move ending 1 down" }).evaluate((node) => node.removeAttribute("disabled"));
  await page.getByRole("button", { name: "Move ending 1 down" }).focus();
  await preview(page).getByText("So sorry").waitFor();
  await page.locator("[data-shows-section=questions]").click();
  await preview(page).getByText("First?").waitFor();
});

test("a first text makes a welcome screen appear in the preview, and the last one removed makes it go", async () => {
  const { page } = await edit();
  await page.locator("[data-shows-section=texts]").click();
  await at(page, "/welcome/body").fill("It takes two minutes.");
  await preview(page).getByText("It takes two minutes.").waitFor();
  await at(page, "/welcome/body").fill("");
  await preview(page).getByText("First?").waitFor();
});

test("the preview shows the screen and the language of a translation", async () => {
  const { page } = await edit(SCREENS);
  await page.locator("[data-shows-section=languages]").click();
  await at(page, "/translations/de/ending/title").focus();
  await preview(page).getByText("Auf Wiedersehen").waitFor();
  await at(page, "/translations/de/questions/second/prompt").focus();
  await preview(page).getByText("Zweitens?").waitFor();
});

/** Holds the first renewal of the preview after its reply. Returns what releases it, and how many there were. */
async function heldRenewal(page) {
  let release;
  const isReleased = new Promise((resolve) => (release = resolve));
  const held = { renewals: 0 };
  await page.route(/\/preview\?/, async (route) => {
    held.renewals += 1;
    if (held.renewals > 1) return route.continue();
    const response = await route.fetch();
    await isReleased;
    await route.fulfill({ response });
  });
  return Object.assign(held, { release });
}

test("a step in the preview while it is renewed is kept, and so is an answer", async () => {
  const { page } = await edit();
  await preview(page).getByRole("heading", { name: "First?" }).waitFor();
  await preview(page).getByRole("button", { name: "Next" }).click();
  await preview(page).getByRole("heading", { name: "Second?" }).waitFor();
  const held = await heldRenewal(page);
  await at(page, "/questions/0/prompt").fill("The first?");
  await becomes(() => held.renewals, 1);
  await preview(page).getByRole("button", { name: "Back" }).click();
  await preview(page).locator("#q-first .text").fill("Typed meanwhile");
  held.release();
  await preview(page).getByRole("heading", { name: "The first?" }).waitFor();
  await becomes(() => preview(page).locator("#q-first .text").inputValue(), "Typed meanwhile");
});

test("an older reply does not replace a newer preview", async () => {
  const { page } = await edit();
  await preview(page).getByRole("heading", { name: "First?" }).waitFor();
  const held = await heldRenewal(page);
  await at(page, "/questions/0/prompt").fill("The older?");
  await becomes(() => held.renewals, 1);
  await at(page, "/questions/0/prompt").fill("The newer?");
  await preview(page).getByRole("heading", { name: "The newer?" }).waitFor();
  const replied = page.waitForResponse(/\/preview\?/).then((reply) => reply.finished());
  held.release();
  await replied;
  // Two turns of the frame: it has read the reply.
  for (let turn = 0; turn < 2; turn += 1) await preview(page).locator("body").evaluate(() => new Promise((done) => setTimeout(done)));
  assert.equal(await preview(page).getByRole("heading", { name: "The newer?" }).count(), 1);
});

test("sections fit and are accessible", async () => {
  const { page } = await edit({ ...SURVEY, sections: [{ id: "you", title: "About you", questions: ["first", "second", "third"] }] });
  await open(page, 1);
  await samePage(page).waitFor();
  await checkPage(page, "sections");
});
