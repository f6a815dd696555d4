// Authoring beyond the forms: the header row, undo, discarding, closing, archiving, search, the keyboard, the preview.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { agree, atDesk, checkAccess, checkPage } from "./support/console.mjs";
import { becomes, matches, until } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());
const desk = await atDesk(world);

const SURVEY = {
  title: "Lunch",
  questions: [
    { id: "taste", type: "rating", prompt: "How was it?" },
    { id: "plan", type: "singleChoice", prompt: "Which plan?", options: [{ id: "free", label: "Free" }, { id: "pro", label: "Pro" }, { id: "team", label: "Team" }] },
    { id: "why", type: "longText", prompt: "Why?" },
  ],
  ending: { title: "Goodbye", body: "See you tomorrow." },
};

async function flowOf(definition = SURVEY, { publish = false, name = definition.title } = {}) {
  const { appId } = await world.server.createApp("Canteen");
  const { flowId } = await world.server.createFlow(appId, name, definition, { publish });
  return { appId, flowId };
}

/** A flow in the editor. */
async function edit(definition = SURVEY, options = {}, appearance = {}) {
  const flow = await flowOf(definition, options);
  const page = await desk.open(`/console/flows/${flow.flowId}/edit`, appearance);
  await page.locator(".editor[data-ready]").waitFor();
  return { page, ...flow };
}

const draftOf = async (flowId) => (await world.server.admin("GET", `/flows/${flowId}/draft`)).definition;
const flowNow = (flowId) => world.server.admin("GET", `/flows/${flowId}`);
const saved = (page) => page.locator("#saving[data-state=saved]").waitFor();
const at = (page, pointer) => page.locator(`[data-pointer="${pointer}"]`);
const open = (page, n) => page.locator(".item").nth(n).locator(".open").click();
const preview = (page) => page.frameLocator("#preview-pane iframe");
const publishLink = (page) => page.getByRole("link", { name: "Publish", exact: true });
const menu = async (page, name) => {
  await page.locator(".flow-top summary").click();
  await page.locator(".flow-top .list").getByText(name).click();
};
/** Presses a key with the platform's modifier, outside of text fields. */
const press = (page, keys) => page.keyboard.press(keys);

test("the title is edited in the header and names the flow", async () => {
  const { page, flowId, appId } = await edit();
  await page.getByLabel("Title", { exact: true }).first().fill("Dinner");
  await becomes(async () => (await draftOf(flowId)).title, "Dinner");
  await becomes(async () => (await flowNow(flowId)).name, "Dinner");
  // The field under "Title and ending" has the same text.
  await page.locator("[data-shows-section=texts]").click();
  await becomes(() => at(page, "/title").inputValue(), "Dinner");
  await at(page, "/title").fill("Supper");
  await becomes(() => page.locator("#title-field").inputValue(), "Supper");
  await becomes(() => page.locator("h1").textContent(), "Supper");
  await saved(page);
  // An internal name stays when the title changes.
  await page.locator("[data-shows-section=schedule]").click();
  const stored = page.waitForResponse((reply) => reply.url().endsWith("/schedule"));
  await page.getByLabel("Internal name").fill("Canteen 2026");
  await page.getByLabel("Internal name").press("Tab");
  await stored;
  await page.locator("#title-field").fill("Breakfast");
  await becomes(async () => (await draftOf(flowId)).title, "Breakfast");
  assert.equal((await flowNow(flowId)).name, "Canteen 2026");
  await saved(page);
  await page.goto(world.address(`/console/apps/${appId}`));
  await page.getByRole("link", { name: "Canteen 2026" }).first().waitFor();
});

test("changes are counted, reviewed once, published, and discarded with undo", async () => {
  const { page, flowId } = await edit(SURVEY, { publish: true });
  const note = page.locator("#unpublished");
  await becomes(() => note.textContent(), "No unpublished changes");
  await becomes(() => publishLink(page).isVisible(), false, "nothing to publish is no button");
  await at(page, "/questions/0/prompt").fill("How did it taste?");
  await becomes(() => note.textContent(), "1 unpublished change");
  await page.locator("#title-field").fill("Dinner");
  await becomes(() => note.textContent(), "2 unpublished changes");
  await saved(page);
  // Discarding is undone by the toast, and the draft is saved again.
  await page.getByRole("link", { name: "Discard" }).click();
  await becomes(() => note.textContent(), "No unpublished changes");
  await becomes(() => at(page, "/questions/0/prompt").inputValue(), "How was it?");
  await checkAccess(page, "discarded");
  await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await becomes(() => note.textContent(), "2 unpublished changes");
  await becomes(async () => (await draftOf(flowId)).questions[0].prompt, "How did it taste?");
  await saved(page);
  // On another tab it is a dialog; Cancel changes nothing.
  await page.goto(world.address(`/console/flows/${flowId}/share`));
  await page.getByRole("link", { name: "Discard" }).click();
  const dialog = page.locator("dialog.ask[open]");
  await dialog.getByText("“How was it?” now reads “How did it taste?”").waitFor();
  await checkAccess(page, "discard dialog");
  await dialog.getByRole("link", { name: "Cancel" }).click();
  await becomes(() => dialog.count(), 0);
  await publishLink(page).click();
  await dialog.getByText("“How was it?” now reads “How did it taste?”").waitFor();
  await dialog.getByRole("button", { name: "Publish version 2" }).click();
  await page.getByText("Version 2 is live.").waitFor();
  await becomes(() => page.locator("#unpublished").textContent(), "No unpublished changes");
});

test("an empty flow is not published", async () => {
  const { page, flowId } = await edit({ title: "Empty", questions: [] });
  await publishLink(page).click();
  await page.getByText("One problem needs fixing before you can publish").waitFor();
  assert.equal(await page.locator("dialog.ask[open]").count(), 0);
  assert.equal((await flowNow(flowId)).currentVersion ?? null, null);
});

test("every edit is undone and redone, with buttons and keys", async () => {
  const { page, flowId } = await edit();
  const texts = async () => (await draftOf(flowId)).questions.map(({ prompt }) => prompt);
  const undo = page.getByRole("button", { name: "Undo last change" });
  const redo = page.getByRole("button", { name: "Redo" });
  await becomes(async () => [await undo.isDisabled(), await redo.isDisabled()], [true, true]);
  // Typing is one step, in a text field too.
  const prompt = at(page, "/questions/0/prompt");
  await prompt.focus();
  await press(page, "End");
  await page.keyboard.type(" Really?");
  await becomes(async () => (await texts())[0], "How was it? Really?");
  await press(page, "Control+z");
  await becomes(() => prompt.inputValue(), "How was it?");
  await becomes(() => page.evaluate(() => document.activeElement.dataset.pointer), "/questions/0/prompt", "the focus stays");
  await press(page, "Control+Shift+z");
  await becomes(() => prompt.inputValue(), "How was it? Really?");
  // A move, a deleted option, a deleted question, a new condition, the title: one step each.
  await page.getByRole("button", { name: "Move question 1 down" }).click();
  await open(page, 0);
  await page.getByRole("button", { name: "Remove option 2" }).click();
  await page.locator(".item").nth(2).locator(".open").click();
  await page.locator(".item").nth(2).getByLabel("Show this question").selectOption("if");
  await page.locator("#title-field").fill("Dinner");
  await page.locator(".item").nth(2).getByRole("button", { name: "Delete" }).click();
  await becomes(async () => (await draftOf(flowId)).questions.length, 2);
  await saved(page);
  const before = await draftOf(flowId);
  for (const check of [
    async () => (await draftOf(flowId)).questions.length === 3,
    async () => (await draftOf(flowId)).title === "Lunch",
    async () => (await draftOf(flowId)).questions[2].visibleIf === undefined,
    async () => (await draftOf(flowId)).questions[0].options.length === 3,
    async () => (await texts())[0] === "How was it? Really?",
  ]) {
    await undo.click();
    await becomes(check, true, String(check));
  }
  await undo.click();
  await becomes(() => texts(), SURVEY.questions.map((question) => question.prompt));
  await becomes(() => undo.isDisabled(), true);
  for (let n = 0; n < 6; n += 1) await redo.click();
  await becomes(() => redo.isDisabled(), true);
  await becomes(() => draftOf(flowId), before);
  await saved(page);
});

test("an id that follows from a text is undone with it", async () => {
  const { page, flowId } = await edit();
  await page.getByRole("button", { name: "+ Add question" }).click();
  await page.locator(".kind[data-type=shortText]").click();
  await at(page, "/questions/3/prompt").fill("Your name");
  await at(page, "/questions/3/prompt").press("Tab");
  await becomes(async () => (await draftOf(flowId)).questions[3]?.id, "your-name");
  await page.getByRole("button", { name: "Undo last change" }).click();
  await becomes(async () => { const { id, prompt } = (await draftOf(flowId)).questions[3]; return [id, prompt]; }, ["question", ""]);
  await saved(page);
});

test("options are dragged, moved by keyboard, and pasted as lines", async () => {
  const { page, flowId } = await edit();
  const labels = async () => (await draftOf(flowId)).questions[1].options.map(({ label }) => label);
  await open(page, 1);
  const grips = page.locator(".choicelist .grip");
  await grips.nth(2).hover();
  const [from, to] = [await grips.nth(2).boundingBox(), await grips.nth(0).boundingBox()];
  await page.mouse.down();
  await page.mouse.move(from.x + 4, (from.y + to.y) / 2, { steps: 6 });
  await page.mouse.move(from.x + 4, to.y - 4, { steps: 6 });
  await page.mouse.up();
  await becomes(labels, ["Team", "Free", "Pro"]);
  await matches(() => page.locator("#announcer").textContent(), /Team is now option 1 of 3/);
  await at(page, "/questions/1/options/0/label").press("Alt+ArrowDown");
  await becomes(labels, ["Free", "Team", "Pro"]);
  const last = at(page, "/questions/1/options/2/label");
  await last.evaluate((input) => {
    input.select();
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "Gold\r\n Silver \n\nBronze");
    input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  await becomes(labels, ["Free", "Team", "Gold", "Silver", "Bronze"]);
  await becomes(() => page.evaluate(() => document.activeElement.dataset.pointer), "/questions/1/options/4/label");
  const ids = (await draftOf(flowId)).questions[1].options.map(({ id }) => id);
  assert.deepEqual(ids.slice(3), ["silver", "bronze"]);
  await page.getByRole("button", { name: "Undo last change" }).click();
  await becomes(labels, ["Free", "Team", "Pro"]);
  await saved(page);
});

test("the preview has a real desktop width, and shows the ending while it is edited", async () => {
  const { page } = await edit();
  const frame = page.locator("#preview-pane iframe");
  const sizes = () => frame.evaluate((it) => [it.contentWindow.innerWidth, it.getBoundingClientRect().width <= it.parentElement.clientWidth + 1]);
  // A phone is readable without scaling; the author's choice is remembered.
  await until(async () => assert.ok((await sizes())[0] <= 390));
  await page.getByRole("button", { name: "Desktop" }).click();
  await becomes(sizes, [1280, true]);
  await page.reload();
  await becomes(sizes, [1280, true]);
  await page.getByRole("button", { name: "Phone" }).click();
  await until(async () => assert.ok((await sizes())[0] <= 390));
  await page.getByRole("button", { name: "Desktop" }).click();
  await becomes(sizes, [1280, true]);
  await preview(page).getByRole("heading", { name: "How was it?" }).waitFor();
  await page.locator("[data-shows-section=texts]").click();
  await at(page, "/ending/title").fill("Farewell");
  await preview(page).getByRole("heading", { name: "Farewell" }).waitFor();
  await preview(page).getByText("See you tomorrow.").waitFor();
  await at(page, "/description").focus();
  await preview(page).getByRole("heading", { name: "How was it?" }).waitFor();
  await saved(page);
});

test("conditions are sentences with whole questions and their opposites", async () => {
  const long = "How many people work with you in the office that you are at most of the week, all in all?";
  const definition = structuredClone(SURVEY);
  definition.questions[1].prompt = long;
  const { page, flowId } = await edit(definition);
  await open(page, 2);
  const logic = page.locator(".item").nth(2).locator(".logic");
  await logic.getByLabel("Show this question").selectOption("if");
  await becomes(() => logic.getByLabel("Question", { exact: true }).locator("option:checked").textContent(), long);
  await logic.getByLabel("Comparison").selectOption({ label: "is not one of" });
  await logic.getByLabel("Pro").check();
  await becomes(async () => (await draftOf(flowId)).questions[2].visibleIf, { not: { question: "plan", in: ["free", "pro"] } });
  await becomes(() => logic.locator(".sentence").textContent(), `Shown only if “${long}” is neither “Free” nor “Pro”.`);
  await logic.getByLabel("Comparison").selectOption({ label: "is not answered" });
  await becomes(async () => (await draftOf(flowId)).questions[2].visibleIf, { not: { question: "plan", answered: true } });
  await logic.getByRole("button", { name: "+ Condition" }).click();
  await logic.getByLabel("Match").selectOption({ label: "None of these is true" });
  await becomes(async () => Object.keys((await draftOf(flowId)).questions[2].visibleIf.not), ["any"]);
  await checkAccess(page, "a negated group");
  await becomes(() => logic.locator(".joint").textContent(), "or");
  await saved(page);
  // The condition is legible in the list, without opening the question.
  await open(page, 2);
  await matches(() => page.locator(".item").nth(2).locator(".only-if").textContent(), /^Only if it is not true that/);
});

test("a flow is closed and opened again, archived and restored, each with undo", async () => {
  const { flowId, appId } = await flowOf(SURVEY, { publish: true });
  const page = await desk.open(`/console/flows/${flowId}/share`);
  const state = page.locator("#title-row .state");
  await becomes(() => state.textContent(), "Open");
  await menu(page, "Close now");
  await page.getByText("Closed. The flow accepts no more responses.").waitFor();
  await becomes(() => state.textContent(), "Closed");
  await checkAccess(page, "closed");
  await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await page.getByText("Reopened.").waitFor();
  assert.equal((await flowNow(flowId)).liveWindow.endsAt, null);
  await menu(page, "Close now");
  await page.getByText("Closed. The flow").waitFor();
  await menu(page, "Reopen");
  await page.getByText("Reopened.").waitFor();
  await menu(page, "Archive…");
  await page.locator("dialog.ask[open]").getByText("You can restore it at any time.").waitFor();
  await agree(page);
  await page.waitForURL(new RegExp(`/console/apps/${appId}`));
  await becomes(async () => Boolean((await flowNow(flowId)).archivedAt), true);
  await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await page.getByText("Restored. The flow is as it was before.").waitFor();
  assert.equal((await flowNow(flowId)).archivedAt, null);
  // A reload does not show the message again.
  await page.reload();
  await becomes(() => page.locator(".toast").count(), 0);
});

test("without JavaScript the same actions are pages and forms", async () => {
  const { flowId } = await flowOf(SURVEY, { publish: true });
  await world.server.admin("PUT", `/flows/${flowId}/draft`, { ...SURVEY, title: "Dinner" });
  const page = await desk.open(`/console/flows/${flowId}/results`, { script: false });
  await page.getByText("1 unpublished change").waitFor();
  await page.getByRole("link", { name: "Discard" }).click();
  await page.getByRole("button", { name: "Discard changes" }).click();
  await page.getByText("Changes discarded. The draft matches the published version.").waitFor();
  assert.equal((await draftOf(flowId)).title, "Lunch");
  await menu(page, "Close now");
  await page.getByText("Closed. The flow accepts no more responses.").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Reopened.").waitFor();
  await menu(page, "Archive…");
  await page.getByRole("button", { name: "Archive" }).click();
  await page.getByText("Archived.").waitFor();
});

test("the live window is set in the reader's time zone", async () => {
  const { page, flowId } = await edit();
  await page.locator("[data-shows-section=schedule]").click();
  await page.getByText("Europe/Berlin").waitFor();
  await page.getByLabel("Starts").fill("2036-12-01T09:00");
  await page.getByText("Only for this flow:").click();
  await page.getByLabel("Amount").fill("2");
  await page.getByLabel("Unit").selectOption("days");
  await becomes(async () => (await flowNow(flowId)).graceWindowSeconds, 172_800);
  assert.equal((await flowNow(flowId)).liveWindow.startsAt, "2036-12-01T08:00:00.000Z");
  await saved(page);
  // The state in the header follows.
  await world.publish({ flowId }, SURVEY);
  await page.reload();
  await page.locator(".editor[data-ready]").waitFor();
  await becomes(() => page.locator("#title-row .state").textContent(), "Scheduled");
  await page.getByLabel("Starts").fill("");
  await page.getByLabel("Starts").blur();
  await becomes(() => page.locator("#title-row .state").textContent(), "Open");
  await saved(page);
});

test("a reply does not change a field that is being edited", async () => {
  const { page, flowId } = await edit();
  await page.locator("[data-shows-section=schedule]").click();
  let release, sent;
  const isReleased = new Promise((resolve) => (release = resolve));
  const isSent = new Promise((resolve) => (sent = resolve));
  await page.route("**/schedule", async (route) => {
    sent();
    await isReleased;
    await route.continue();
  });
  // 24 hours are stored, and shown as one day.
  await page.getByText("Only for this flow:").click();
  await isSent;
  const amount = page.getByLabel("Amount");
  await amount.press("Control+a");
  const replied = page.waitForResponse("**/schedule");
  release();
  await replied;
  await becomes(() => page.locator("[name='shown.amount']").inputValue(), "1");
  await page.keyboard.type("36");
  await amount.blur();
  await becomes(async () => (await flowNow(flowId)).graceWindowSeconds, 36 * 3_600);
});

test("flows are found by name, title and question, from the list and from anywhere", async () => {
  const { appId, flowId } = await flowOf({ ...SURVEY, title: "Zanzibar lunch" });
  await world.server.createFlow(appId, "Another", { title: "Another", questions: [{ id: "q", type: "shortText", prompt: "Which quokka?" }] }, { publish: false });
  const page = await desk.open(`/console/apps/${appId}`);
  await press(page, "/");
  await page.keyboard.type("quokka");
  await press(page, "Enter");
  await page.getByText("Question: Which quokka?").waitFor();
  await becomes(() => page.locator(".flow").count(), 1);
  await checkAccess(page, "search");
  await press(page, "Control+k");
  await page.getByRole("combobox", { name: "Search flows and pages" }).fill("zanzibar");
  await page.getByRole("option", { name: /Zanzibar lunch/ }).waitFor();
  await checkAccess(page, "go to");
  await press(page, "Enter");
  await page.waitForURL(new RegExp(`/console/flows/${flowId}`));
  // Arrow keys choose among the pages of the flow.
  await page.locator(".editor[data-ready]").waitFor();
  await press(page, "Control+k");
  await page.getByRole("combobox", { name: "Search flows and pages" }).fill("share");
  await page.getByRole("option", { name: /^Share/ }).waitFor();
  await press(page, "ArrowDown");
  await press(page, "ArrowUp");
  await press(page, "Enter");
  await page.waitForURL(/\/share$/);
});

test("the keyboard shortcuts are listed, and single keys can be turned off", async () => {
  const { page } = await edit();
  await page.locator("h1").click({ force: true });
  await page.evaluate(() => document.activeElement.blur());
  await press(page, "?");
  const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await dialog.getByText("Move a question or an option").waitFor();
  await checkAccess(page, "shortcuts");
  await dialog.getByLabel("Use single-key shortcuts (/ and ?)").uncheck();
  await press(page, "Escape");
  await becomes(() => dialog.count(), 0);
  await press(page, "?");
  await page.getByRole("button", { name: "Shortcuts" }).click();
  await dialog.getByLabel("Use single-key shortcuts (/ and ?)").check();
});

test("a flow's name leads to one place everywhere", async () => {
  const { appId, flowId } = await flowOf(SURVEY, { publish: true });
  const page = await desk.open(`/console/apps/${appId}`);
  const links = await page.getByRole("link", { name: /^Lunch/ }).evaluateAll((all) => all.map((link) => new URL(link.href).pathname));
  assert.ok(links.length >= 2, String(links));
  assert.deepEqual([...new Set(links)], [`/console/flows/${flowId}`]);
  await page.locator(".flow h2 a").click();
  await page.waitForURL(/\/results$/);
});

test("a new flow starts from scratch first", async () => {
  const { appId } = await flowOf();
  const page = await desk.open(`/console/apps/${appId}/new`);
  await becomes(() => page.locator(".templates h2").first().textContent(), "Start from scratch");
  await page.getByRole("button", { name: "Start from scratch" }).click();
  await page.locator(".editor[data-ready]").waitFor();
  await page.getByRole("button", { name: "+ Add question" }).click();
  await until(async () => assert.ok((await page.locator(".kind").count()) >= 17));
  assert.equal(await page.locator(".kind").count(), await page.locator(".kind .type-icon").count());
});

test("recent times are relative, and exact on hover", async () => {
  const { flowId } = await flowOf(SURVEY, { publish: true });
  const page = await desk.open(`/console/flows/${flowId}/history`);
  const time = page.locator(".version time[data-ago]").first();
  await matches(() => time.textContent(), /^(just now|\d+ minutes? ago)$/);
  await matches(() => time.getAttribute("title"), /20\d\d.*\d:\d\d:\d\d/);
});

test("the side bar is open on a wide screen, also once the window is wide", async () => {
  const { appId } = await flowOf(SURVEY);
  const page = await desk.open(`/console/apps/${appId}`, { width: 390 });
  const isOpen = () => page.locator("details.menu").evaluate((menu) => menu.open);
  await becomes(isOpen, false);
  await page.setViewportSize({ width: 1440, height: 900 });
  await becomes(isOpen, true);
  await page.setViewportSize({ width: 390, height: 900 });
  await becomes(isOpen, false);
  await page.context().close();
});

test("the header and the start page fit and are accessible", async () => {
  const { appId, flowId } = await flowOf({ ...SURVEY, title: "A flow with quite a long title that has to be cut off somewhere" }, { publish: true });
  await world.server.admin("PUT", `/flows/${flowId}/draft`, { ...SURVEY, title: "A flow with quite a long title that has to be cut off somewhere, changed" });
  await world.server.admin("PATCH", `/flows/${flowId}`, { liveWindow: { startsAt: null, endsAt: new Date(Date.now() + 86_400_000).toISOString() } });
  for (const tab of ["edit", "share", "responses", "results", "history"]) {
    const page = await desk.open(`/console/flows/${flowId}/${tab}`, { width: 390 });
    if (tab === "edit") await page.locator(".editor[data-ready]").waitFor();
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      const top = await page.locator(".tabs").evaluate((tabs) => tabs.getBoundingClientRect().bottom);
      assert.ok(top <= 196, `${tab}, ${width} px: the content starts below ${top} px`);
    }
    await checkPage(page, tab);
    await page.context().close();
  }
  const page = await desk.open(`/console/apps/${appId}`);
  await page.getByText("Closing within 7 days").waitFor();
  await page.locator(".overview").getByRole("link", { name: /^A flow with/ }).waitFor();
  await checkPage(page, "start page");
});
