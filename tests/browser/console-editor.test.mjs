// The editor in a real browser: every type, all ways to move questions, autosave, conflicts, faults, preview, publishing.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { after, test } from "node:test";

import { ADMIN_TOKEN, agree, checkAccess, checkPage, openConsole } from "./support/console.mjs";
import { becomes, matches, until } from "./support/until.mjs";
import { openWorld, SIZES } from "./support/world.mjs";

const ROOT = resolve(import.meta.dirname, "../..");
const SCRIPTS = `${ROOT}/crates/console/src/assets/script/editor`;
const { inWords } = await import(`${SCRIPTS}/words.js`);
const { registerTypes } = await import(`${SCRIPTS}/types.js`);

const world = await openWorld();
after(() => world.close());

const SURVEY = {
  title: "Lunch",
  questions: [
    { id: "taste", type: "rating", prompt: "How was it?" },
    { id: "plan", type: "singleChoice", prompt: "Which plan?", options: [{ id: "free", label: "Free" }, { id: "pro", label: "Pro" }] },
    { id: "why", type: "longText", prompt: "Why?" },
  ],
};

/** An app with a draft flow, and its editor. */
async function edit(definition = SURVEY, appearance = {}) {
  const { appId } = await world.server.createApp("Shop");
  const { flowId } = await world.server.createFlow(appId, "Lunch", definition, { publish: false });
  const page = await openConsole(world, `/console/flows/${flowId}/edit`, appearance);
  await ready(page);
  return { page, flowId, appId };
}

const ready = (page) => page.locator(".editor[data-ready]").waitFor();
const saved = (page) => page.locator("#saving[data-state=saved]").waitFor();
/** Runs an action that changes the draft, and waits until it is saved. */
async function changing(page, doing) {
  const stored = page.waitForResponse((reply) => reply.url().endsWith("/draft") && reply.request().method() === "POST");
  await doing();
  await stored;
  await saved(page);
}
const draftOf = async (flowId) => (await world.server.admin("GET", `/flows/${flowId}/draft`)).definition;
const prompts = async (flowId) => (await draftOf(flowId)).questions.map(({ prompt }) => prompt);
const item = (page, at) => page.locator(".item").nth(at);
const open = (page, at) => item(page, at).locator(".open").click();
const at = (page, pointer) => page.locator(`[data-pointer="${pointer}"]`);
const show = (page, name) => page.locator(`[data-shows-section=${name}]`).click();
const undoToast = (page) => page.locator(".toast").getByRole("button", { name: "Undo" });
/** Publishes from the header: the button, then the dialog with what changes. */
async function publish(page) {
  await page.getByRole("link", { name: "Publish", exact: true }).click();
  await page.locator("dialog.ask[open]").getByRole("button", { name: /^Publish version/ }).click();
}
const preview = (page) => page.frameLocator("#preview-pane iframe");

test("conditions are described as in the shared table", async () => {
  const { page } = await edit();
  registerTypes(JSON.parse(await page.locator("#editor").getAttribute("data-about")).types);
  const { questions, cases } = JSON.parse(readFileSync(`${ROOT}/crates/flow/tests/flow/condition_words.json`, "utf8"));
  for (const { if: condition, words } of cases) assert.equal(inWords(condition, questions), words);
});

test("from a template to the first result in five clicks", async () => {
  const { appId } = await world.server.createApp("First");
  const page = await openConsole(world, `/console/apps/${appId}`);
  await page.getByRole("button", { name: "Use template: Customer satisfaction" }).click();
  await ready(page);
  await publish(page);
  await page.getByText("Version 1 is live.").waitFor();
  const [form] = await Promise.all([page.waitForEvent("popup"), page.getByRole("link", { name: "Answer", exact: true }).click()]);
  await form.locator("#q-satisfaction").waitFor();
  await form.close();
  await page.getByRole("link", { name: "View results" }).click();
  await page.waitForURL(/\/results/);
});

test("a question of every type is added, edited and stored", async () => {
  const { page, flowId } = await edit({ title: "All", questions: [] });
  const types = await page.locator(".kind").evaluateAll((all) => all.map(({ dataset }) => dataset.type));
  assert.deepEqual(types.toSorted(), (await world.questionTypes()).toSorted());
  for (const [n, type] of types.entries()) {
    await page.getByRole("button", { name: "+ Add question" }).click();
    await page.locator(`.kind[data-type=${type}]`).click();
    await at(page, `/questions/${n}/prompt`).fill(`What about ${type}?`);
    await at(page, `/questions/${n}/help`).fill("Some help");
    // New choices are empty.
    for (const label of await item(page, n).locator(".choicelist [data-pointer$='/label']").all()) {
      assert.equal(await label.inputValue(), "");
      await label.fill(await label.getAttribute("placeholder"));
    }
  }
  const set = async (type, field, value) => {
    const n = types.indexOf(type);
    if ((await item(page, n).locator(".body").count()) === 0) await open(page, n);
    const control = at(page, `/questions/${n}/${field}`);
    const name = await control.evaluate((element) => (element.type === "checkbox" ? "checkbox" : element.localName));
    if (name === "checkbox") await control.setChecked(value);
    else if (name === "select") await control.selectOption(value);
    else await control.fill(String(value));
  };
  const wanted = {
    shortText: { minLength: 2, maxLength: 80, required: true }, number: { min: -1.5, max: 20, integer: false },
    date: { min: "2024-01-01", max: "2026-12-31" }, rating: { max: 7, shape: "emoji", lowLabel: "Bad", highLabel: "Good" },
    nps: { lowLabel: "No", highLabel: "Yes" }, singleChoice: { allowOther: true }, multipleChoice: { minSelected: 1, maxSelected: 2 },
  };
  for (const [type, fields] of Object.entries(wanted)) for (const [field, value] of Object.entries(fields)) if (value !== false) await set(type, field, value);
  // Options: add one with Enter, reorder, remove one; ids come from the labels.
  const single = types.indexOf("singleChoice");
  if ((await item(page, single).locator(".body").count()) === 0) await open(page, single);
  await at(page, `/questions/${single}/options/0/label`).fill("Red");
  await at(page, `/questions/${single}/options/1/label`).fill("Dark green");
  await at(page, `/questions/${single}/options/1/label`).press("Enter");
  await at(page, `/questions/${single}/options/2/label`).fill("Blue");
  await at(page, `/questions/${single}/options/2/label`).press("Alt+ArrowUp");
  await page.getByRole("button", { name: "Remove option 1" }).click();
  // Saves happen in the order of changes.
  const options = [{ id: "blue", label: "Blue" }, { id: "dark-green", label: "Dark green" }];
  await becomes(async () => (await draftOf(flowId)).questions[single].options, options);
  await saved(page);
  const draft = await draftOf(flowId);
  assert.deepEqual(draft.questions.map(({ type }) => type), types);
  for (const [type, fields] of Object.entries(wanted)) {
    const question = draft.questions.find((each) => each.type === type);
    for (const [field, value] of Object.entries(fields)) assert.deepEqual(question[field] ?? false, value, `${type} ${field}`);
    assert.equal(question.help, "Some help");
  }
  assert.equal(draft.questions[0].id, "what-about-shorttext");
  await becomes(() => page.locator("#faults").isVisible(), false);
  await changing(page, async () => { await open(page, 0); await page.getByText("Type and ID").click(); await at(page, "/questions/0/type").selectOption("email") });
  await becomes(async () => (await draftOf(flowId)).questions[0].type, "email");
});

test("questions are moved by keyboard, buttons and dragging, and the move is announced", async () => {
  const { page, flowId } = await edit();
  const announcer = page.locator("#announcer");
  await changing(page, () => item(page, 0).locator(".open").press("Alt+ArrowDown"));
  await becomes(() => prompts(flowId), ["Which plan?", "How was it?", "Why?"]);
  await becomes(() => announcer.textContent(), "“How was it?” is now question 2 of 3.");
  // The focus moves along.
  await changing(page, () => page.keyboard.press("Alt+ArrowDown"));
  await becomes(() => prompts(flowId), ["Which plan?", "Why?", "How was it?"]);
  await changing(page, () => page.getByRole("button", { name: "Move question 3 up" }).click());
  await becomes(() => prompts(flowId), ["Which plan?", "How was it?", "Why?"]);
  // Collapsed, all three are in view.
  await page.locator(".item.chosen .open").click();
  await changing(page, async () => {
    // A hover waits until the grip stops moving.
    await item(page, 2).locator(".grip").hover();
    const grip = await item(page, 2).locator(".grip").boundingBox();
    const top = await item(page, 0).boundingBox();
    await page.mouse.down();
    await page.mouse.move(grip.x + 5, top.y + 60, { steps: 8 });
    await page.mouse.move(grip.x + 5, top.y + 5, { steps: 8 });
    await page.mouse.up();
  });
  await becomes(() => prompts(flowId), ["Why?", "Which plan?", "How was it?"]);
});

test("a question is duplicated, deleted and restored", async () => {
  const definition = { ...SURVEY, translations: { de: { questions: { plan: { prompt: "Welcher Tarif?" } } } } };
  const { page, flowId } = await edit(definition);
  await open(page, 1);
  await changing(page, () => page.getByRole("button", { name: "Duplicate" }).click());
  const ids = async () => (await draftOf(flowId)).questions.map(({ id }) => id);
  await becomes(ids, ["taste", "plan", "plan-2", "why"]);
  await becomes(async () => (await draftOf(flowId)).translations.de.questions["plan-2"].prompt, "Welcher Tarif?");
  await open(page, 1);
  await changing(page, () => page.getByRole("button", { name: "Delete" }).click());
  await becomes(ids, ["taste", "plan-2", "why"]);
  await changing(page, () => undoToast(page).click());
  await becomes(ids, ["taste", "plan", "plan-2", "why"]);
  await becomes(async () => (await draftOf(flowId)).translations.de.questions.plan.prompt, "Welcher Tarif?");
});

test("logic is edited in plain English", async () => {
  const { page, flowId } = await edit();
  await open(page, 2);
  const logic = item(page, 2).locator(".logic");
  await changing(page, () => logic.getByLabel("Show this question").selectOption("if"));
  await becomes(async () => (await draftOf(flowId)).questions[2].visibleIf, { question: "plan", equals: "free" });
  await changing(page, () => logic.getByLabel("Value").selectOption("pro"));
  await changing(page, () => logic.getByRole("button", { name: "+ Condition" }).click());
  await logic.getByLabel("Question", { exact: true }).nth(1).selectOption("taste");
  await changing(page, () => logic.getByLabel("Value").nth(1).fill("2"));
  await becomes(() => logic.locator(".sentence").textContent(), "Shown only if “Which plan?” is “Pro” and “How was it?” is less than 2.");
  await changing(page, () => logic.getByLabel("Match").selectOption("any"));
  await changing(page, () => logic.getByLabel("Comparison").first().selectOption({ label: "is not" }));
  await becomes(() => logic.locator(".sentence").textContent(), "Shown only if “Which plan?” is not “Pro” or “How was it?” is less than 2.");
  await becomes(async () => (await draftOf(flowId)).questions[2].visibleIf,
    { any: [{ not: { question: "plan", equals: "pro" } }, { question: "taste", lessThan: 2 }] });
  await changing(page, () => logic.getByRole("button", { name: "+ Group" }).click());
  await changing(page, () => logic.getByLabel("Comparison").nth(1).selectOption("in"));
  await becomes(async () => {
    const { any } = (await draftOf(flowId)).questions[2].visibleIf;
    return [any.length, any[1]];
  }, [3, { question: "taste", in: [2] }]);
  await changing(page, () => logic.getByLabel("Show this question").selectOption(""));
  await becomes(async () => (await draftOf(flowId)).questions[2].visibleIf, undefined);
  // Renaming an id updates the conditions.
  await changing(page, () => logic.getByLabel("Show this question").selectOption("if"));
  await open(page, 1);
  await page.getByText("Type and ID").click();
  await changing(page, async () => { await at(page, "/questions/1/id").fill("tariff"); await at(page, "/questions/1/id").press("Tab") });
  await becomes(async () => (await draftOf(flowId)).questions[2].visibleIf.question, "tariff");
});

test("texts are translated side by side, and missing texts are counted", async () => {
  const { page, flowId } = await edit();
  await show(page, "languages");
  await page.getByLabel("Add a language").fill("de");
  await changing(page, () => page.getByRole("button", { name: "Add", exact: true }).click());
  await page.getByText("0 of 6").waitFor();
  await at(page, "/translations/de/title").fill("Mittag");
  await changing(page, () => at(page, "/translations/de/questions/plan/options/pro").fill("Profi"));
  await page.getByText("2 of 6").waitFor();
  await becomes(async () => (await draftOf(flowId)).translations, { de: { title: "Mittag", questions: { plan: { options: { pro: "Profi" } } } } });
  // The preview offers the language.
  await page.getByLabel("Language", { exact: true }).selectOption("de");
  await preview(page).getByRole("heading", { name: "Mittag" }).waitFor();
  await changing(page, () => page.getByRole("button", { name: "Remove German" }).click());
  await becomes(async () => (await draftOf(flowId)).translations, undefined);
  await changing(page, () => undoToast(page).click());
  await becomes(async () => (await draftOf(flowId)).translations.de.title, "Mittag");
});

test("the title, the ending and the consent are edited", async () => {
  const { page, flowId } = await edit();
  await show(page, "texts");
  await at(page, "/title").fill("Dinner");
  await at(page, "/description").fill("Two minutes.");
  await at(page, "/respondentAnalytics").selectOption("ask");
  await at(page, "/ending/title").fill("Bye");
  await at(page, "/ending/redirectUrl").fill("https://example.com/");
  const texts = async () => {
    const { title, description, respondentAnalytics, ending } = await draftOf(flowId);
    return { title, description, respondentAnalytics, ending };
  };
  await becomes(texts,
    { title: "Dinner", description: "Two minutes.", respondentAnalytics: "ask", ending: { title: "Bye", redirectUrl: "https://example.com/" } });
});

test("the JSON and the forms show the same draft", async () => {
  const { page, flowId } = await edit();
  await show(page, "json");
  const area = page.locator("#definition");
  const json = JSON.parse(await area.inputValue());
  assert.deepEqual(Object.keys(json), ["title", "questions"]);
  assert.deepEqual(Object.keys(json.questions[1]), ["id", "type", "prompt", "options"]);
  await area.fill("{ \"title\": \n oops");
  await page.getByText("This is not valid JSON").waitFor();
  json.title = "By hand";
  json.questions.reverse();
  await changing(page, () => area.fill(JSON.stringify(json)));
  await becomes(async () => (await draftOf(flowId)).title, "By hand");
  await show(page, "questions");
  await matches(() => item(page, 0).textContent(), /Why\?/);
});

test("changes survive a reload and a server outage", async () => {
  const { page, flowId } = await edit();
  await changing(page, () => at(page, "/questions/0/prompt").fill("How did it taste?"));
  await page.reload();
  await ready(page);
  await becomes(() => at(page, "/questions/0/prompt").inputValue(), "How did it taste?");
  await page.context().setOffline(true);
  await at(page, "/questions/0/prompt").fill("Written on the train");
  await page.locator("#saving[data-state=offline]").waitFor();
  await matches(() => page.locator("#announcer").textContent(), /saved when it is back/);
  await checkAccess(page, "offline");
  await page.context().setOffline(false);
  await saved(page);
  await becomes(async () => (await prompts(flowId))[0], "Written on the train");
});

test("a signed-out user signs in in another tab and continues without losing changes", async () => {
  const { page, flowId } = await edit();
  await page.context().clearCookies();
  await at(page, "/questions/0/prompt").fill("Written too late");
  await page.locator("#saving[data-state=signed-out]").waitFor();
  await matches(() => page.locator("#bar").textContent(), /Sign in in another tab, then continue here/);
  await checkAccess(page, "signed out");
  const [other] = await Promise.all([page.waitForEvent("popup"), page.locator("#bar a", { hasText: "Sign in" }).click()]);
  await other.locator("[name=token]").fill(ADMIN_TOKEN);
  await other.locator("[name=token]").press("Enter");
  await other.waitForURL((url) => !url.pathname.startsWith("/console/sign-in"));
  await other.close();
  await at(page, "/questions/0/prompt").fill("Written in time");
  await saved(page);
  await becomes(async () => (await prompts(flowId))[0], "Written in time");
});

test("a refused draft is kept, and the next change is saved again", async () => {
  const { page, flowId } = await edit();
  await page.route("**/draft", (route) => route.fulfill({ status: 403, body: "no" }));
  await at(page, "/questions/0/prompt").fill("Refused");
  await page.locator("#saving[data-state=refused]").waitFor();
  assert.doesNotMatch(await page.locator("#bar").textContent(), /reload/i);
  await page.unroute("**/draft");
  await at(page, "/questions/0/prompt").fill("Taken");
  await saved(page);
  await becomes(async () => (await prompts(flowId))[0], "Taken");
});

test("a long draft is saved in any script", async () => {
  const { page, flowId } = await edit({ ...SURVEY, description: "ж".repeat(40_000) });
  await changing(page, () => at(page, "/questions/0/prompt").fill("Как вам?"));
  await becomes(async () => (await prompts(flowId))[0], "Как вам?");
});

test("invalid JSON is kept and reported as not applied", async () => {
  const { page, flowId } = await edit();
  await show(page, "json");
  const area = page.locator("#definition");
  const broken = '{ "title": "Half", ';
  await area.fill(broken);
  await page.getByText("applied when the JSON is valid").waitFor();
  await show(page, "questions");
  await changing(page, () => at(page, "/questions/0/prompt").fill("By the form"));
  await show(page, "json");
  await becomes(() => area.inputValue(), broken);
  await page.getByText("The draft was changed elsewhere in the meantime").waitFor();
  await checkAccess(page, "JSON that cannot be read");
  const [dialog] = await Promise.all([page.waitForEvent("dialog"), page.close({ runBeforeUnload: true })]);
  assert.equal(dialog.type(), "beforeunload");
  await dialog.dismiss();
  await page.getByRole("button", { name: "Discard my edits" }).click();
  await becomes(async () => JSON.parse(await area.inputValue()).questions[0].prompt, "By the form");
  await becomes(() => page.locator("#json-wrong").isVisible(), false);
  await becomes(async () => (await draftOf(flowId)).title, "Lunch");
});

test("a condition about a removed question can be changed", async () => {
  const definition = structuredClone(SURVEY);
  definition.questions[2].visibleIf = { question: "gone", equals: "x" };
  const { page, flowId } = await edit(definition);
  await open(page, 2);
  await changing(page, () => item(page, 2).getByLabel("Comparison").selectOption("answered"));
  await becomes(async () => (await draftOf(flowId)).questions[2].visibleIf, { question: "gone", answered: true });
});

test("two tabs do not silently overwrite each other", async () => {
  const { page, flowId } = await edit();
  const other = await page.context().newPage();
  await other.goto(page.url());
  await ready(other);
  await changing(page, () => at(page, "/questions/0/prompt").fill("Mine"));
  await at(other, "/questions/0/prompt").fill("Theirs");
  await other.locator("#saving[data-state=conflict]").waitFor();
  await becomes(async () => (await prompts(flowId))[0], "Mine");
  await checkAccess(other, "conflict");
  await other.getByRole("button", { name: "Keep mine" }).click();
  await saved(other);
  await becomes(async () => (await prompts(flowId))[0], "Theirs");
  await at(page, "/questions/0/prompt").fill("Mine again");
  await page.locator("#saving[data-state=conflict]").waitFor();
  await page.getByRole("button", { name: "Take theirs" }).click();
  await saved(page);
  await becomes(() => at(page, "/questions/0/prompt").inputValue(), "Theirs");
  await changing(page, () => at(page, "/questions/0/prompt").fill("In peace"));
  await becomes(async () => (await prompts(flowId))[0], "In peace");
});

test("faults are listed, link to their fields, and prevent publishing", async () => {
  const { page } = await edit();
  await changing(page, () => at(page, "/questions/0/prompt").fill(""));
  await page.getByText("One problem needs fixing before you can publish").waitFor();
  await matches(() => item(page, 0).locator(".field").first().textContent(), /Is missing\./);
  await matches(() => item(page, 0).locator(".head").textContent(), /Needs fixing/);
  await show(page, "texts");
  await changing(page, () => at(page, "/ending/redirectUrl").fill("nowhere"));
  await page.getByText("2 problems need fixing before you can publish").waitFor();
  await checkAccess(page, "faults");
  await page.getByRole("link", { name: /^Question 1/ }).click();
  await becomes(() => page.evaluate(() => document.activeElement.dataset.pointer), "/questions/0/prompt");
  await page.getByRole("link", { name: "Publish", exact: true }).click();
  await matches(() => page.url(), /\/edit/);
  await becomes(() => page.getByText("is live").count(), 0);
});

test("the preview follows the draft, keeps its position and its answers, and stores nothing", async () => {
  const definition = structuredClone(SURVEY);
  definition.respondentAnalytics = "never";
  definition.autoAdvance = false;
  definition.questions[2].visibleIf = { question: "taste", lessThan: 3 };
  const { page, flowId } = await edit(definition);
  await preview(page).getByRole("heading", { name: "How was it?" }).waitFor();
  await preview(page).locator("label:has(input[value='5'])").first().click();
  await preview(page).getByRole("button", { name: "Next" }).click();
  await preview(page).getByRole("heading", { name: "Which plan?" }).waitFor();
  await preview(page).getByText("Pro", { exact: true }).click();
  // A change elsewhere: the preview keeps its position and its selection.
  await changing(page, () => at(page, "/questions/0/prompt").fill("How did it taste?"));
  await preview(page).getByRole("heading", { name: "Which plan?" }).waitFor();
  await becomes(() => preview(page).locator("input[value=pro]").isChecked(), true);
  await preview(page).getByRole("button", { name: "Back" }).click();
  await preview(page).getByRole("heading", { name: "How did it taste?" }).waitFor();
  // A selected question is shown even if no answer leads to it.
  await open(page, 2);
  await preview(page).getByRole("heading", { name: "Why?" }).waitFor();
  await becomes(() => page.evaluate(() => document.activeElement.className), "open", "the focus stays in the editor");
  await preview(page).getByRole("button", { name: "Send" }).click();
  await preview(page).getByText("Preview: answers are not saved.").waitFor();
  assert.deepEqual(await world.responses({ flowId }), []);
  await page.getByRole("button", { name: "Phone" }).click();
  await until(async () => {
    const width = await page.locator("#preview-pane iframe").evaluate((frame) => frame.clientWidth);
    assert.ok(width <= 392, `${width} px`);
  });
});

test("a later version is reviewed, published, and rolled back", async () => {
  const { page, flowId } = await edit();
  await publish(page);
  await page.getByText("Version 1 is live.").waitFor();
  await ready(page);
  await at(page, "/questions/0/prompt").fill("How did it taste?");
  await page.getByRole("link", { name: "Publish", exact: true }).click();
  await page.getByText("“How was it?” now reads “How did it taste?”").waitFor();
  await page.getByText("can still send it for 1 day").waitFor();
  await checkAccess(page, "review");
  await page.getByRole("button", { name: "Publish version 2" }).click();
  await page.getByText("Version 2 is live.").waitFor();
  await page.getByRole("link", { name: "History" }).click();
  await page.getByText("In grace window until").waitFor();
  await checkAccess(page, "history");
  await page.getByRole("button", { name: "Publish again" }).click();
  await agree(page);
  await page.getByText("a republished older version").waitFor();
  await page.locator(".version").nth(1).getByRole("button", { name: "Retire" }).click();
  await agree(page);
  await page.getByText("Retired", { exact: true }).waitFor();
  await page.getByRole("link", { name: "View questions" }).last().click();
  await page.getByText("Which plan?").first().waitFor();
  await checkAccess(page, "a version");
  assert.equal((await world.server.admin("GET", `/flows/${flowId}/versions`)).items.length, 3);
});

test("without JavaScript the draft is edited as JSON", async () => {
  const { appId } = await world.server.createApp("Plain");
  const { flowId } = await world.server.createFlow(appId, "Plain", SURVEY, { publish: false });
  const page = await openConsole(world, `/console/flows/${flowId}/edit`, { script: false });
  const json = JSON.parse(await page.locator("#definition").inputValue());
  json.title = "By hand";
  await page.locator("#definition").fill(JSON.stringify(json));
  await Promise.all([page.waitForEvent("load"), page.getByRole("button", { name: "Save draft" }).click()]);
  await becomes(async () => (await draftOf(flowId)).title, "By hand");
  await page.getByRole("link", { name: "Publish", exact: true }).click();
  await page.getByText("This is the first version: 3 questions.").waitFor();
  await page.getByRole("button", { name: "Publish version 1" }).click();
  await page.getByText("Version 1 is live.").waitFor();
});

test("every section of the editor is accessible and fits", async () => {
  const { page, flowId, appId } = await edit({ ...SURVEY, translations: { de: { title: "Mittag" } } });
  for (const [n] of SURVEY.questions.entries()) {
    if (n > 0) await open(page, n);
    await checkPage(page, `question ${n + 1}`);
  }
  await item(page, 2).getByLabel("Show this question").selectOption("if");
  await item(page, 2).getByRole("button", { name: "+ Group" }).click();
  await checkPage(page, "logic");
  await page.getByRole("button", { name: "+ Add question" }).click();
  await checkPage(page, "palette");
  await page.locator(".kind[data-type=matrix]").click();
  await page.getByRole("button", { name: "Show IDs" }).first().click();
  await checkPage(page, "matrix");
  await item(page, 3).getByRole("button", { name: "Delete" }).click();
  await undoToast(page).waitFor();
  await checkPage(page, "undo");
  for (const part of ["texts", "languages", "schedule", "json"]) {
    await show(page, part);
    await checkPage(page, part);
    if (part === "languages") {
      await page.setViewportSize(SIZES.phone);
      const { x, width } = await at(page, "/translations/de/title").boundingBox();
      assert.ok(x >= 0 && x + width <= SIZES.phone.width, "translations are not cut off");
      await page.setViewportSize(SIZES.desktop);
    }
  }
  // Wait for the save; otherwise the page asks before it is closed.
  await becomes(async () => (await draftOf(flowId)).questions.length, SURVEY.questions.length);
  await becomes(async () => Boolean((await draftOf(flowId)).questions[2].visibleIf), true);
  await saved(page);
  for (const path of [`/console/apps/${appId}`, `/console/apps/${appId}/new`, `/console/apps/${appId}?view=archived`]) {
    await page.goto(world.address(path));
    await checkPage(page, path);
  }
});

test("on a phone the preview shows a phone", async () => {
  const { page } = await edit(SURVEY, { theme: "dark", size: "phone" });
  await page.getByRole("button", { name: "Preview", exact: true }).click();
  await becomes(() => page.getByRole("button", { name: "Phone" }).getAttribute("aria-pressed"), "true");
  await checkAccess(page, "preview on a phone");
});
