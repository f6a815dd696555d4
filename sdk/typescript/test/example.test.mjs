// The example app in Chromium against a real server: every question type, logic, and a version that
// changes meanwhile.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { extname, resolve } from "node:path";
import { after, before, test } from "node:test";

import { becomes, until } from "../../../tests/browser/support/until.mjs";
import { openWorld, SIZES } from "../../../tests/browser/support/world.mjs";

const EXAMPLE = resolve(import.meta.dirname, "../example");
const KINDS = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const FEEDBACK = {
  title: "Feedback", respondentAnalytics: "ask",
  questions: [
    { id: "nps", type: "nps", prompt: "How *likely* are you?", required: true, lowLabel: "Never", highLabel: "Always" },
    { id: "why", type: "longText", prompt: "Why only {{answer:nps}}?", visibleIf: { question: "nps", lessThan: 7 } },
    { id: "plan", type: "singleChoice", prompt: "Which plan?", options: [{ id: "free", label: "Free" }, { id: "pro", label: "Pro" }], allowOther: true },
  ],
  ending: { title: "Thank you", body: "You said {{answer:plan|nothing}}." },
};
const option = (id) => ({ id, label: id.toUpperCase() });
const EVERYTHING = {
  title: "Everything",
  welcome: { title: "Hello", body: "Two *pages*.", buttonText: "Go on" },
  questions: [
    { id: "text", type: "shortText", prompt: "Text", minLength: 2 }, { id: "mail", type: "email", prompt: "E-mail" }, { id: "web", type: "url", prompt: "Web" },
    { id: "tel", type: "phone", prompt: "Telephone" }, { id: "num", type: "number", prompt: "Number", max: 10 }, { id: "day", type: "date", prompt: "Day" },
    { id: "drop", type: "dropdown", prompt: "Dropdown", options: ["a", "b"].map(option) },
    { id: "some", type: "multipleChoice", prompt: "Some", options: ["a", "b", "c"].map(option), allowOther: true },
    { id: "rank", type: "ranking", prompt: "Rank", options: ["a", "b", "c"].map(option) },
    { id: "grid", type: "matrix", prompt: "Grid", rows: ["r", "s"].map(option), columns: ["c", "d"].map(option), required: true },
    { id: "stars", type: "rating", prompt: "Stars", max: 4, score: "value" }, { id: "more", type: "yesNo", prompt: "More?" },
    { id: "read", type: "statement", prompt: "Read this" }, { id: "terms", type: "consent", prompt: "Terms", required: true },
  ],
  sections: [{ id: "one", title: "First page", questions: ["text", "mail", "web", "tel", "num", "day"] },
    { id: "two", questions: ["drop", "some", "rank", "grid", "stars", "more", "read", "terms"] }],
};

let world;
let host;
let address;
before(async () => {
  execFileSync(process.execPath, [resolve(EXAMPLE, "build.mjs")]);
  world = await openWorld();
  host = createServer((request, reply) => {
    const path = new URL(request.url, "http://x").pathname.replace(/\/$/, "/index.html");
    reply.setHeader("content-type", KINDS[extname(path)] ?? "text/plain");
    reply.end(readFileSync(resolve(EXAMPLE, `.${path}`)));
  });
  host.listen(0, "127.0.0.1");
  await once(host, "listening");
  address = `http://127.0.0.1:${host.address().port}`;
  world.hosts.add(address);
});
after(async () => {
  host.close();
  await world.close();
});

/** The app with a published flow, opened. */
async function open(definition, { size = "desktop", query = "", isArchived = false } = {}) {
  const flow = await world.flow(definition);
  // Before the page resolves it: the browser may keep that reply for some seconds.
  if (isArchived) await world.server.admin("DELETE", `/flows/${flow.flowId}`);
  const key = flow.base.split("/").at(-1);
  const page = await world.visit(`${address}/?server=${world.server.url}&key=${key}&flow=${flow.flowId}${query}`, { size });
  return { flow, page };
}

/** A picture for the eye, if SCREENSHOTS names a folder. */
const shot = (page, name) => process.env.SCREENSHOTS && page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png`, fullPage: true });

const next = (page) => page.locator("button[name=next]").click();
const choose = (page, id, value) => page.locator(`#q-${id} input[value="${value}"]`).check({ force: true });

test("answers are stored, and the ending repeats them", async () => {
  const { flow, page } = await open(FEEDBACK, { query: "&user=u1" });
  await page.locator("#q-nps legend em").waitFor();
  await next(page);
  assert.equal(await page.locator("#q-nps .error").innerText(), "Please answer this question.");
  await choose(page, "nps", "3");
  await next(page);
  await becomes(() => page.locator("#q-why legend").innerText(), "Why only 3?");
  await page.locator("#q-why textarea").fill("Slow <b>");
  await next(page);
  await page.locator("#q-plan input[aria-label=Other]").fill("Gold");
  await page.locator("input[name=consent]").check();
  await next(page);
  await becomes(() => page.locator("h1").innerText(), "Thank you");
  assert.equal(await page.locator(".text").innerText(), "You said Gold.");
  const [response] = await world.responses(flow);
  assert.deepEqual(response.answers, { nps: "3", plan: "other:Gold", why: "Slow <b>" });
  assert.deepEqual([response.respondentAnalyticsAdmission, response.metadata.tags.source], ["admitted", "example"]);
  assert.equal(response.context.page.path, "/");
});

test("a version that is published meanwhile: in its grace window the answers are accepted", async () => {
  const { flow, page } = await open(FEEDBACK);
  await choose(page, "nps", "9");
  await world.publish(flow, { ...FEEDBACK, title: "Newer" });
  await next(page);
  await choose(page, "plan", "pro");
  await next(page);
  await becomes(() => page.locator("h1").innerText(), "Thank you");
  const [response] = await world.responses(flow);
  assert.equal(response.flowVersionId, flow.flowVersionId);
});

for (const size of Object.keys(SIZES)) {
  test(`after the grace window, answers are carried over and nothing is lost (${size})`, async () => {
    const { flow, page } = await open(FEEDBACK, { size });
    await choose(page, "nps", "3");
    await next(page);
    await page.locator("#q-why textarea").fill("Because");
    await next(page);
    await choose(page, "plan", "pro");
    await world.server.admin("PATCH", `/flows/${flow.flowId}`, { graceWindowSeconds: 0 });
    const [nps, why, plan] = FEEDBACK.questions;
    const questions = [nps, why, { ...plan, options: [{ id: "free", label: "Free" }, { id: "team", label: "Team" }], allowOther: false, required: true }];
    const to = await world.publish(flow, { ...FEEDBACK, questions });
    await next(page);
    await until(async () => assert.match(await page.locator(".notice").innerText(), /has changed[\s\S]*You answered before: pro/));
    await shot(page, `changed-${size}`);
    assert.equal((await world.responses(flow)).length, 0);
    // The first open question is shown; the others keep their answers.
    await page.locator("#q-plan").waitFor();
    assert.equal(await page.locator("#q-plan input:checked").count(), 0);
    await page.getByRole("button", { name: "Back" }).click();
    assert.equal(await page.locator("#q-why textarea").inputValue(), "Because");
    await next(page);
    await choose(page, "plan", "team");
    await next(page);
    await becomes(() => page.locator("h1").innerText(), "Thank you");
    const responses = await world.responses(flow);
    assert.deepEqual(responses.map(({ flowVersionId, answers }) => [flowVersionId, answers]), [[to, { nps: "3", plan: "team", why: "Because" }]]);
  });
}

test("if everything still fits, the answers go to the newer version at once", async () => {
  const { flow, page } = await open(FEEDBACK);
  await choose(page, "nps", "9");
  await next(page);
  await choose(page, "plan", "pro");
  await world.server.admin("PATCH", `/flows/${flow.flowId}`, { graceWindowSeconds: 0 });
  const to = await world.publish(flow, { ...FEEDBACK, ending: { title: "Thanks again" } });
  await next(page);
  await becomes(() => page.locator("h1").innerText(), "Thanks again");
  assert.deepEqual((await world.responses(flow)).map(({ flowVersionId }) => flowVersionId), [to]);
});

test("every question type has a field whose answers the server accepts", async () => {
  const { flow, page } = await open(EVERYTHING);
  await becomes(() => page.locator("h1").innerText(), "Hello");
  await page.getByRole("button", { name: "Go on" }).click();
  await becomes(() => page.locator("h1").innerText(), "First page");
  const fields = { text: "x", mail: "ada@example", web: "example.com", tel: "1", num: "11", day: "2024-02-29" };
  for (const [id, text] of Object.entries(fields)) await page.locator(`#q-${id} input`).fill(text);
  await next(page);
  await becomes(() => page.locator(".error").count(), 5);
  assert.equal(await page.locator("#q-mail .error").innerText(), "Enter an e-mail address such as ada@example.com.");
  await shot(page, "fields");
  Object.assign(fields, { text: "xy", mail: "ada@example.com", web: "https://example.com", tel: "+49 30 12", num: "-0.5" });
  for (const [id, text] of Object.entries(fields)) await page.locator(`#q-${id} input`).fill(text);
  await becomes(() => page.locator(".error").count(), 0);
  await next(page);
  await page.locator("#q-drop").waitFor();
  await page.locator("#q-drop select").selectOption("b");
  await choose(page, "some", "a");
  await page.locator("#q-some input[aria-label=Other]").fill("Mine");
  await page.locator("#q-rank button[name='rank.c']").click();
  await page.locator("#q-grid input[name='grid.r'][value=d]").check();
  await choose(page, "stars", "4");
  await choose(page, "more", "no");
  await next(page);
  await becomes(() => page.locator(".error").allInnerTexts(), ["Please choose one in every row.", "Please answer this question."]);
  await shot(page, "choices");
  await page.locator("#q-grid input[name='grid.s'][value=c]").check();
  await page.locator("#q-terms input").check();
  await next(page);
  await becomes(() => page.locator(".muted").innerText(), "Your score: 4");
  const [response] = await world.responses(flow);
  assert.deepEqual(response.answers, {
    ...fields, drop: "b", grid: ["r:d", "s:c"], more: "no", rank: ["a", "c", "b"], some: ["a", "other:Mine"], stars: "4", terms: "accepted",
  });
  assert.equal(response.score, 4);
});

test("a flow that cannot be loaded is reported, and can be tried again", async () => {
  const { flow, page } = await open(FEEDBACK, { isArchived: true });
  await becomes(() => page.locator("h1").innerText(), "This survey could not be opened");
  await world.server.admin("POST", `/flows/${flow.flowId}/restore`);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.locator("#q-nps").waitFor();
});
