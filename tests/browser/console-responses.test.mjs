// The responses in the console: the table, a panel, filters, live updates and exports, with and without JavaScript.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, afterEach, before, test } from "node:test";

import { checkPage } from "./support/console.mjs";
import { becomes, until } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const TOKEN = "token-of-the-client-tests-0123456789";
const HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>";
const OPTIONS = [{ id: "api", label: "The API" }, { id: "form", label: "The form" }];
const QUESTIONS = [
  { id: "nps", type: "nps", prompt: "How likely are you to recommend us to a friend or colleague?" },
  { id: "use", type: "multipleChoice", prompt: "What do you use?", options: OPTIONS, allowOther: true },
  { id: "why", type: "longText", prompt: "Why?" },
  { id: "when", type: "date", prompt: "Since when?" },
];

const world = await openWorld();
after(() => world.close());

// A user has at most five live pages, so each test closes its own.
const opened = [];
afterEach(async () => {
  for (const page of opened.splice(0)) await page.context().close();
});

let flow;
let list;
before(async () => {
  flow = await world.flow({ questions: QUESTIONS }, { name: "Feedback" });
  list = `/console/flows/${flow.flowId}/responses`;
  for (let number = 0; number < 60; number += 1) await respond(number);
});

async function respond(number, more = {}) {
  const answers = { nps: String(number % 11), use: number % 3 ? ["api"] : ["form", `other:own ${number}`], why: number % 7 ? `Reason ${number}` : HOSTILE, when: "2026-02-01" };
  const body = {
    flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only",
    answers, metadata: { tags: { plan: number % 2 ? "pro" : "free", team: ["a", "b"] } }, ...more,
  };
  const reply = await fetch(`${flow.base}/trpc/response.submit`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const { result } = await reply.json();
  assert.equal(result.data.success, true, JSON.stringify(result));
  return result.data.responseId;
}

/** A signed-in browser that has opened an address. */
async function signedIn(path, options = {}) {
  const page = await world.visit("/console/sign-in", { acceptDownloads: true, ...options });
  opened.push(page);
  const token = page.locator("input[name=token]");
  await token.fill(TOKEN);
  await page.locator("form", { has: page.locator("input[name=token]") }).locator("button[type=submit]").click();
  await page.waitForURL(/\/console(\/apps\/|$|\?)/);
  await page.goto(world.address(path));
  return page;
}

const rows = (page) => page.locator("tbody tr[data-id]");

test("the table, the panel, the page and the dialog are accessible and fit", async () => {
  const page = await signedIn(list);
  await checkPage(page, "the table");
  await page.locator("summary", { hasText: "Add filter" }).click();
  await checkPage(page, "the form of the filters");
  await page.goto(world.address(`${list}?answer.nps=9&tag.plan=pro&search=reason`));
  await checkPage(page, "a filtered table");
  await rows(page).first().locator("a").click();
  await page.locator("#panel[open] article").waitFor();
  await checkPage(page, "the panel");
  await page.goto(world.address(`${list}/${await idOf(page)}`));
  await checkPage(page, "one response");
  await page.goto(world.address(`${list}?answer.nps=none`));
  await checkPage(page, "nothing found");
  await page.goto(world.address(list));
  await page.locator("a", { hasText: "Export" }).click();
  await page.locator("#export:modal").waitFor();
  await checkPage(page, "the dialog");
});

async function idOf(page) {
  return page.locator("#panel article").getAttribute("data-id");
}

test("a row opens in the panel, and the arrow keys move to the next", async () => {
  const page = await signedIn(list);
  await becomes(() => rows(page).count(), 50);
  await rows(page).nth(3).locator("td").nth(2).click();
  const panel = page.locator("#panel[open]");
  await panel.locator("article").waitFor();
  const ids = await rows(page).evaluateAll((all) => all.map((row) => row.dataset.id));
  await becomes(() => idOf(page), ids[3]);
  await page.keyboard.press("ArrowRight");
  await page.locator(`#panel article[data-id="${ids[4]}"]`).waitFor();
  await page.keyboard.press("ArrowLeft");
  await page.locator(`#panel article[data-id="${ids[3]}"]`).waitFor();
  await page.keyboard.press("Escape");
  await becomes(() => panel.count(), 0);
  await becomes(() => page.evaluate(() => document.activeElement.closest("tr")?.dataset.id), ids[3]);
});

test("a script in an answer does not run", async () => {
  const page = await signedIn(`${list}?search=onerror`);
  let ran = false;
  page.on("dialog", (dialog) => { ran = true; dialog.dismiss(); });
  await until(async () => assert.ok((await rows(page).count()) > 0));
  await rows(page).first().locator("a").click();
  await page.locator("#panel article").waitFor();
  await until(async () => assert.ok((await page.locator("#panel .answers").textContent()).includes(HOSTILE)));
  assert.equal(await page.locator("img, #panel script").count(), 0);
  assert.equal(ran, false);
});

for (const script of [true, false]) {
  test(`filters are added by the form and removed by their chips (${script ? "with" : "without"} script)`, async () => {
    const page = await signedIn(list, { script });
    await page.locator("summary", { hasText: "Add filter" }).click();
    await page.locator("#question").selectOption("use");
    await page.locator("#value").fill("The form");
    await page.locator("form", { has: page.locator("#question") }).locator("button[type=submit]").click();
    await page.waitForURL(/answer\.use=form$/);
    await becomes(() => rows(page).count(), 20);
    await page.locator("#search").fill("own 3");
    await page.locator("form[role=search] button").click();
    await page.waitForURL(/search=own/);
    const before = await rows(page).count();
    assert.ok(before > 0 && before < 20);
    await page.locator(".chip", { hasText: "What do you use?" }).click();
    await page.waitForURL((url) => !url.search.includes("answer.use"));
    await page.locator("a", { hasText: "Clear all" }).click();
    await becomes(() => rows(page).count(), 50);
    await page.locator("a[rel=next]").click();
    await page.waitForURL(/after=/);
    await becomes(() => rows(page).count(), 10);
    await page.locator("a[rel=prev]").click();
    await page.waitForURL(/before=|responses$/);
    await becomes(() => rows(page).count(), 50);
  });
}

test("a new response appears at the top if it matches the filter", async () => {
  const page = await signedIn(`${list}?tag.plan=live`);
  await page.locator("[data-live-state]", { hasText: "appear" }).waitFor();
  await respond(100);
  const id = await respond(101, { metadata: { tags: { plan: "live" } } });
  await page.locator(`tr[data-id="${id}"].arrived`).waitFor();
  await becomes(() => rows(page).count(), 1);
  const second = await respond(102, { metadata: { tags: { plan: "live" } } });
  await page.locator(`tr[data-id="${second}"]`).waitFor();
  await becomes(() => rows(page).evaluateAll((all) => all.map((row) => row.dataset.id)), [second, id]);
});

test("the first response replaces the empty state with a table", async () => {
  const empty = await world.flow({ questions: QUESTIONS }, { name: "Empty" });
  const page = await signedIn(`/console/flows/${empty.flowId}/responses`);
  await page.locator("h2", { hasText: "No responses yet" }).waitFor();
  const body = { flowVersionId: empty.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers: { nps: "9" } };
  await fetch(`${empty.base}/trpc/response.submit`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  await rows(page).first().waitFor();
});

/** Makes a page believe that it is hidden or visible. */
const setVisible = (page, isVisible) => page.evaluate((hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}, !isVisible);
const watching = (page) => page.locator("[data-live-state]", { hasText: "appear" }).waitFor();
const idsOf = (page) => rows(page).evaluateAll((all) => all.map((row) => row.dataset.id));

test("responses that arrived while the page was hidden appear when it is visible again", async () => {
  const tagged = { metadata: { tags: { plan: "unseen" } } };
  const first = await respond(110, tagged);
  const page = await signedIn(`${list}?tag.plan=unseen`);
  await watching(page);
  await setVisible(page, false);
  const second = await respond(111, tagged);
  // Longer than the page looks back.
  await page.waitForTimeout(10_500);
  await setVisible(page, true);
  await page.locator(`tr[data-id="${second}"]`).waitFor();
  await becomes(() => idsOf(page), [second, first]);
});

test("a late response is inserted in order, and only once", async () => {
  const tagged = { metadata: { tags: { plan: "late" } } };
  const shown = await respond(115, tagged);
  const late = `${shown.slice(0, -8)}00000000`;
  const event = (id) => `event: response\nid: ${id}\ndata: ${JSON.stringify({ id, row: `<tr data-id="${id}"><td>told</td></tr>` })}\n\n`;
  const body = [late, shown, late].map(event).join("");
  const page = await signedIn("/console");
  await page.route("**/responses/live*", (route) => route.fulfill({ contentType: "text/event-stream", body }));
  await page.goto(world.address(`${list}?tag.plan=late`));
  await page.locator(`tr[data-id="${late}"]`).waitFor();
  await becomes(() => idsOf(page), [shown, late]);
});

test("a page that missed more than the stream sends is reloaded", async () => {
  const tagged = { metadata: { tags: { plan: "many" } } };
  await respond(120, tagged);
  const page = await signedIn(`${list}?tag.plan=many`);
  await watching(page);
  await setVisible(page, false);
  const ids = [];
  for (let number = 0; number < 110; number += 1) ids.push(await respond(number, tagged));
  await Promise.all([page.waitForEvent("load"), setVisible(page, true)]);
  await becomes(() => idsOf(page), ids.reverse().slice(0, 50));
});

test("rows pushed out by new responses start the next page", async () => {
  const tagged = { metadata: { tags: { plan: "full" } } };
  const ids = [await respond(130, tagged)];
  const page = await signedIn(`${list}?tag.plan=full`);
  await watching(page);
  await becomes(() => page.locator("a[rel=next]").count(), 0);
  while (ids.length < 203) {
    for (let number = 0; number < 50 && ids.length < 203; number += 1) ids.push(await respond(number, tagged));
    await page.locator(`tr[data-id="${ids.at(-1)}"]`).waitFor();
  }
  ids.reverse();
  await becomes(() => idsOf(page), ids.slice(0, 200));
  await page.locator("a[rel=next]", { hasText: "Older" }).click();
  await page.waitForURL(/after=/);
  await becomes(() => idsOf(page), ids.slice(200));
});

test("an export whose progress only another node knows is not reported as failed", async () => {
  const page = await signedIn(`${list}?tag.plan=pro`);
  // The page polls more often than usual, to keep the test short.
  await page.evaluate(() => {
    const own = window.setTimeout;
    window.setTimeout = (doing, ms, ...more) => own(doing, ms === 300 ? 1 : ms, ...more);
  });
  let asked = 0;
  const words = [];
  await page.route("**/console/exports/*", async (route) => {
    asked += 1;
    const isKnown = asked % 40 === 0;
    if (asked % 40 === 39) words.push(await page.locator("[data-progress-words]").textContent());
    if (!isKnown) return route.fulfill({ status: 404, body: "" });
    const progress = { rows: asked, total: 120, ended: asked === 120, running: true };
    return route.fulfill({ status: 200, contentType: "application/json", body: JSON.stringify(progress) });
  });
  await page.locator("a.button", { hasText: "Export" }).click();
  await Promise.all([page.waitForEvent("download"), page.locator("form[data-export] button[type=submit]").click()]);
  await page.locator("[data-progress-words]", { hasText: "Done: 120 responses." }).waitFor();
  assert.deepEqual(words, ["Downloading…", "40 of 120 responses", "80 of 120 responses"]);
});

for (const script of [true, false]) {
  test(`an export is downloaded (${script ? "with progress" : "without script"})`, async () => {
    const page = await signedIn(`${list}?tag.plan=pro`, { script });
    await page.locator("a.button", { hasText: "Export" }).click();
    const form = page.locator("form", { has: page.locator("input[name=format]") });
    await form.locator("input[value=jsonl]").check();
    const [download] = await Promise.all([page.waitForEvent("download"), form.locator("button[type=submit]").click()]);
    assert.match(download.suggestedFilename(), /^feedback-.*\.jsonl$/);
    const lines = (await readFile(await download.path(), "utf8")).trim().split("\n").map((line) => JSON.parse(line));
    assert.equal(lines.length, 30);
    assert.ok(lines.every(({ metadata }) => metadata.tags.plan === "pro"));
    if (script) await page.locator("[data-progress-words]", { hasText: "Done: 30 responses." }).waitFor();
  });
}

for (const late of ["responses", "base"]) {
  test(`the dialog of the export stays open if ${late}.js is loaded after the click`, async () => {
    const page = await signedIn("/console");
    await page.removeLocatorHandler(page.unloaded);
    let release;
    const isReleased = new Promise((resolve) => (release = resolve));
    await page.route(`**/${late}.js`, async (route) => {
      await isReleased;
      await route.continue();
    });
    await page.goto(world.address(`${list}?tag.plan=pro`), { waitUntil: "commit" });
    const button = page.locator("a.button", { hasText: "Export" });
    if (late === "base") {
      await button.click();
    } else {
      await until(async () => {
        await button.click();
        assert.equal(await page.locator("#export:modal").count(), 1, "base.js is not loaded yet");
      });
    }
    release();
    await page.waitForLoadState("load");
    await page.locator("#export:modal").waitFor();
    await Promise.all([page.waitForEvent("download"), page.locator("form[data-export] button[type=submit]").click()]);
    await page.locator("[data-progress-words]", { hasText: "Done: 30 responses." }).waitFor();
  });
}

test("an export has labels by choice, and the codebook explains its ids", async () => {
  const page = await signedIn(`${list}?tag.plan=pro`);
  await page.locator("a.button", { hasText: "Export" }).click();
  const form = page.locator("form", { has: page.locator("input[name=format]") });
  const exported = async (values) => {
    await form.locator(`input[name=values][value='${values}']`).check();
    const [download] = await Promise.all([page.waitForEvent("download"), form.locator("button[type=submit]").click()]);
    return (await readFile(await download.path(), "utf8")).split("\r\n")[0];
  };
  const [usual, labels, ids] = [await exported(""), await exported("labels"), await exported("ids")];
  assert.equal(usual, ids, "CSV has ids by default");
  for (const { id, prompt } of QUESTIONS) {
    assert.ok(ids.split(",").includes(id), `${id}: ${ids}`);
    assert.ok(labels.includes(prompt), `${prompt}: ${labels}`);
  }
  const [codebook] = await Promise.all([page.waitForEvent("download"), form.locator("a", { hasText: "codebook" }).click()]);
  assert.match(codebook.suggestedFilename(), /^feedback-codebook-.*\.csv$/);
  const lines = (await readFile(await codebook.path(), "utf8")).split("\r\n");
  assert.match(lines[0], /^version,flowVersionId,column,questionId,type,question,part,optionId,label$/);
  for (const { id } of QUESTIONS) assert.ok(lines.some((line) => line.split(",")[3] === id), id);
});

test("a response is deleted on its page, and the list confirms it", async () => {
  const id = await respond(200, { metadata: { tags: { plan: "gone" } } });
  const page = await signedIn(`${list}/${id}?tag.plan=gone`);
  await page.locator("summary", { hasText: "Delete response" }).click();
  await page.locator("button", { hasText: "Delete permanently" }).click();
  await page.locator(".flash", { hasText: "Deleted." }).waitFor();
  await becomes(() => rows(page).count(), 0);
});
