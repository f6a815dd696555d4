// From a filter by an answer and a tag to a cross-tabulation and to all answers; the test counts every number itself.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { atDesk, checkPage, settled } from "./support/console.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const PLANS = [{ id: "a", label: "Free" }, { id: "b", label: "Paid" }];
const SURVEY = {
  title: "Filters",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely are you to recommend us?" },
    { id: "plan", type: "singleChoice", prompt: "Which plan do you have?", options: PLANS },
    { id: "again", type: "yesNo", prompt: "Would you come again?" },
    { id: "use", type: "multipleChoice", prompt: "What do you use?", options: PLANS },
    { id: "why", type: "longText", prompt: "What would make it better?" },
  ],
};
const COUNT = 130;
const TEAMS = ["red", "blue"];
const answered = Array.from({ length: COUNT }, (_, at) => ({
  team: TEAMS[at % 2],
  nps: at % 11,
  plan: PLANS[Math.floor(at / 2) % 2].id,
  again: at % 5 < 3 ? "yes" : "no",
  why: at % 7 === 6 ? undefined : `Answer ${at}: ${at % 3 ? "the export is slow" : "nothing, thank you"}`,
}));
const low = answered.filter(({ team, nps }) => team === "red" && nps < 7);

let world, desk, flow;
before(async () => {
  world = await openWorld();
  desk = await atDesk(world);
  flow = await world.flow(SURVEY, { name: "Filters" });
  for (const { team, nps, plan, again, why } of answered) {
    const reply = await fetch(`${flow.base}/trpc/response.submit`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only",
        answers: { nps: String(nps), plan, again, use: [plan], ...(why ? { why } : {}) }, metadata: { tags: { team } },
      }),
    });
    const { result } = await reply.json();
    assert.ok(result.data.success, JSON.stringify(result));
  }
});
after(() => world?.close());

const results = (query = "") => `/console/flows/${flow.flowId}/results${query}`;
const card = (page, title) => page.locator("section.result", { has: page.locator("h2", { hasText: title }) });
const responses = (page) => page.locator(".stat dd.big").first().textContent();

/** The numbers of the cross-tabulation, by row, as [count, share]. */
const crossed = (page) => page.locator(".crosstab-table").evaluate((table) =>
  Object.fromEntries([...table.tBodies[0].rows].map((row) => [
    row.cells[0].textContent, [...row.cells].slice(1).map((cell) => cell.textContent.split(" ")),
  ])));
const cell = (part, of) => [String(part), of === 0 ? "–" : `${Math.round((100 * part) / of)}%`];

test("a filter by an answer and a tag leads to a cross-tabulation and to all answers", async () => {
  const page = await desk.open(results());
  await page.locator(".adding > summary").click();
  await page.locator("#question").selectOption({ label: "How likely are you to recommend us?" });
  // Only comparisons that fit the question are offered.
  await becomes(() => page.locator("#operator option[value=contains]").isDisabled(), true);
  await page.locator("#operator").selectOption("lt");
  await page.locator("#value").fill("7");
  await page.getByRole("button", { name: "Apply" }).last().click();
  await page.waitForURL(/answer\.nps%5Blt%5D=7/);
  const below = answered.filter(({ nps }) => nps < 7).length;
  await becomes(() => responses(page), String(below));
  await page.locator("#tag").selectOption("team=red");
  await page.waitForURL(/tag=team%3Dred/);
  await becomes(() => responses(page), String(low.length));
  await matches(() => page.locator(".chips[aria-label='Chosen filters']").textContent(), /How likely are you to recommend us\? < 7/);
  await matches(() => page.locator("main").textContent(), /Computed from the responses stored by/);

  await card(page, "Which plan").getByRole("link", { name: "Cross-tabulate" }).click();
  await page.waitForURL(/crosstab\?rows=plan/);
  await page.locator("#columns").selectOption({ label: "Would you come again?" });
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/columns=again/);
  await page.locator(".crosstab-table").waitFor();
  await settled(page);
  const numbers = await crossed(page);
  for (const { id, label } of PLANS) {
    const group = low.filter(({ plan }) => plan === id);
    const yes = group.filter(({ again }) => again === "yes").length;
    const expected = [cell(yes, group.length), cell(group.length - yes, group.length), cell(group.length, low.length)];
    assert.deepEqual(numbers[label], expected, label);
  }
  await matches(() => page.locator("section.result").textContent(), /could be chance|unlikely to be chance/);
  assert.equal(await page.locator("figure.chart svg").count(), 1);

  await page.getByRole("link", { name: "← Results" }).click();
  await becomes(() => responses(page), String(low.length));
  await card(page, "make it better").getByRole("link", { name: /^Read (all \d+ answers|the answer):/ }).click();
  await page.waitForURL(/results\/answers\?question=why/);
  const texts = low.flatMap(({ why }) => (why ? [why] : [])).reverse();
  await becomes(() => page.locator(".all-answers blockquote").allTextContents(), texts);
  await page.locator("#search").fill("SLOW");
  await page.locator("#search").press("Enter");
  await page.waitForURL(/search=SLOW/);
  await becomes(() => page.locator(".all-answers blockquote").allTextContents(), texts.filter((text) => text.includes("slow")));
});

test("all answers are read in pages, each once", async () => {
  const page = await desk.open(`/console/flows/${flow.flowId}/results/answers?question=why`);
  const all = answered.flatMap(({ why }) => (why ? [why] : [])).reverse();
  const found = [];
  // More pages than there can be.
  for (let pages = 0; pages < COUNT; pages++) {
    await page.locator(".all-answers").waitFor();
    await settled(page);
    found.push(...(await page.locator(".all-answers blockquote").allTextContents()));
    const next = page.locator("a[rel=next]");
    if ((await next.count()) === 0) break;
    const before = page.url();
    await next.click();
    await page.waitForURL((url) => url.href !== before);
  }
  assert.deepEqual(found, all);
});

test("filters, cross-tabulations and answers work without a script", async () => {
  const page = await desk.open(results("?answer.nps%5Bgte%5D=9"), { script: false });
  const promoters = answered.filter(({ nps }) => nps >= 9).length;
  await becomes(() => responses(page), String(promoters));
  await page.goto(new URL(results("/crosstab?rows=plan&columns=nps"), page.url()).href);
  await page.locator(".crosstab-table").waitFor();
  await settled(page);
  assert.equal(Object.keys(await crossed(page)).length, PLANS.length + 1);
});

test("the pages are accessible and fit in both themes at every width", async () => {
  for (const path of [
    results("?answer.nps%5Blt%5D=7&tag.team=red"), results("/crosstab?rows=plan&columns=nps&answer.nps%5Blt%5D=9"),
    results("/crosstab?rows=use&columns=again"), results("/answers?question=why&search=slow"), results("?apply=1&question=nps&operator=lt&value=x"),
  ]) {
    const page = await desk.open(path);
    await page.locator(".stat, .crosstab-table, .all-answers").first().waitFor();
    await checkPage(page, path);
    await page.context().close();
  }
});
