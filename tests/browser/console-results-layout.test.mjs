// The layout of the results, the funnel and the responses: what is at the top, and that nothing is cut off.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { atDesk, checkAccess, checkFits, settled } from "./support/console.mjs";
import { becomes } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const LONG = "Chain, cassette and everything else that wears out";
const SURVEY = {
  title: "After your repair",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely are you to recommend us to a friend or colleague?" },
    { id: "what", type: "multipleChoice", prompt: "What did we repair?", options: [{ id: "chain", label: LONG }, { id: "bell", label: "Bell" }] },
    { id: "stars", type: "rating", prompt: "How friendly were we?" },
    { id: "again", type: "yesNo", prompt: "Would you come back?" },
    { id: "why", type: "longText", prompt: "Why?", visibleIf: { question: "again", equals: "no" } },
    { id: "more", type: "shortText", prompt: "Anything else?" },
  ],
};
const ANSWERS = { nps: "9", what: ["chain", "bell"], stars: "4", again: "yes", more: "No" };
/** Finished after about four minutes: a long figure. */
const SECONDS = 249;

let world, desk, flow;
before(async () => {
  world = await openWorld();
  desk = await atDesk(world);
  flow = await world.flow(SURVEY);
  const post = (path, body) => fetch(`${flow.base}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const { flowVersionId } = flow;
  const asked = ["nps", "what", "stars", "again", "more"];
  const all = [...asked.map((question) => ({ step: "seen", question })), ...asked.map((question) => ({ step: "passed", question }))];
  for (let n = 0; n < 12; n += 1) {
    const submitted = await post("/trpc/response.submit", { flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers: ANSWERS });
    assert.ok((await submitted.json()).result.data.success);
    const why = n ? [] : [{ step: "seen", question: "why" }, { step: "passed", question: "why" }];
    const visit = await post("/visits", { flowVersionId, steps: [{ step: "opened" }, { step: "started" }, ...all, ...why, { step: "finished", seconds: SECONDS }] });
    assert.ok(visit.ok, await visit.text());
  }
  // The funnel writes the visits that were counted.
  await (await desk.open(address("results/funnel"))).context().close();
});
after(() => world?.close());

const address = (page) => `/console/flows/${flow.flowId}/${page}`;
const top = (place) => place.evaluate((it) => it.getBoundingClientRect().top);

test("no figure is cut off at any width", async () => {
  for (const page of ["results", "results/funnel"]) {
    const opened = await desk.open(address(page));
    for (const width of [390, 768, 900, 1100, 1440]) {
      await opened.setViewportSize({ width, height: 900 });
      const figures = await opened.locator(".stat .big").evaluateAll((all) => all.map((it) => [it.textContent, it.scrollWidth <= it.clientWidth]));
      assert.ok(figures.some(([text]) => /^≈ \d+ min \d+ s$/.test(text)), JSON.stringify(figures));
      assert.deepEqual(figures.filter(([, fits]) => !fits), [], `${page} at ${width} px`);
    }
    await opened.context().close();
  }
});

test("results start with responses, completion, time and score", async () => {
  const page = await desk.open(address("results"));
  const stats = await page.locator(".stat").evaluateAll((all) => all.slice(0, 4).map((it) => it.querySelector("dt").textContent));
  assert.deepEqual(stats, ["Responses", "Completion rate", "Median time to finish", "Net promoter score"]);
  await page.context().close();
});

test("on a phone the filters are folded, and the first figure is near the top", async () => {
  const page = await desk.open(address("results"), { width: 390 });
  await settled(page);
  assert.ok((await top(page.locator(".stat").first())) < 360);
  const period = page.locator(".filters .chip", { hasText: "Last 30 days" });
  assert.equal(await period.isVisible(), false);
  await page.locator(".folded-filters > summary").click();
  await period.click();
  await page.waitForURL(/period=30d/);
  await becomes(() => page.locator(".folded-filters > summary").innerText().then((text) => text.includes("Last 30 days")), true);
  await checkFits(page, "the phone");
  await page.context().close();
  const wide = await desk.open(address("results"));
  assert.equal(await wide.locator(".filters .chip", { hasText: "Last 30 days" }).isVisible(), true);
  assert.equal(await wide.locator(".folded-filters > summary").isVisible(), false);
  await wide.context().close();
});

test("the index leads to each question, and stays in view beside them", async () => {
  for (const width of [1440, 390]) {
    const page = await desk.open(address("results"), { width });
    await settled(page);
    await checkAccess(page, `the index at ${width} px`);
    const link = page.locator(".index a", { hasText: "Anything else?" });
    if (width < 500) await page.locator(".index summary").click();
    await link.click();
    const heading = page.locator("h2", { hasText: "Anything else?" });
    await becomes(async () => (await top(heading)) >= 0 && (await top(heading)) < 900, true);
    if (width < 500) {
      assert.equal(await link.isVisible(), false, "it closes after a choice");
    } else {
      const index = page.locator(".index li").first();
      await becomes(async () => (await top(index)) >= 0 && (await top(index)) < 100, true);
    }
    await page.context().close();
  }
});

test("a long label is in one line where there is room, and wrapped on a phone", async () => {
  for (const [width, lines] of [[1440, 1], [390, 2]]) {
    const page = await desk.open(address("results"), { width });
    const card = page.locator("section.result", { has: page.locator("h2", { hasText: "What did we repair?" }) });
    const labels = card.locator("svg text", { hasText: /Chain|wears out/ }).filter({ visible: true });
    await becomes(() => labels.count(), lines);
    await page.context().close();
  }
});

test("a question that only some are asked is not drawn as a drop", async () => {
  const page = await desk.open(address("results/funnel"));
  const asked = page.locator(".chart svg text", { hasText: "1 asked" }).filter({ visible: true });
  await becomes(() => asked.count(), 1);
  await page.context().close();
});

test("a row of the responses is one line; on a phone a card has three answers", async () => {
  const page = await desk.open(address("responses"));
  const row = page.locator(".responses-table tbody tr").first();
  await becomes(() => row.locator("td", { hasText: "Chain" }).innerText().then((text) => text.includes(`${LONG} · Bell`)), true);
  assert.ok((await row.evaluate((it) => it.offsetHeight)) < 48);
  const score = page.locator("th.short", { hasText: "How likely" });
  assert.ok((await score.evaluate((it) => it.offsetWidth)) <= 130);
  await page.context().close();
  const phone = await desk.open(address("responses"), { width: 390 });
  const cells = phone.locator(".responses-table tbody tr").first().locator("td").filter({ visible: true });
  const labels = await cells.evaluateAll((all) => all.map((it) => it.dataset.label));
  assert.equal(labels.filter((label) => SURVEY.questions.some(({ prompt }) => prompt.startsWith(label.replace("…", "")))).length, 3);
  await checkFits(phone, "the responses");
  await phone.context().close();
});
