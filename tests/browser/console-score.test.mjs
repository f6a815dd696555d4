// The score of a flow in its results, in the table of responses and on the page of a response.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { atDesk, checkPage } from "./support/console.mjs";
import { becomes, matches, until } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());
const desk = await atDesk(world);

const QUIZ = {
  title: "Quiz",
  questions: [
    { id: "plan", type: "singleChoice", prompt: "Which plan?", options: [{ id: "a", label: "A", score: 9.5 }, { id: "b", label: "B", score: -2 }] },
    { id: "stars", type: "rating", prompt: "How many stars?", score: "value" },
  ],
};
/** Scores: 14.5, -1, 3, 10.5. */
const ANSWERS = [["a", "5"], ["b", "1"], ["b", "5"], ["a", "1"]];
let flow, of;

before(async () => {
  flow = await world.flow(QUIZ);
  of = `/console/flows/${flow.flowId}`;
  for (const [plan, stars] of ANSWERS) {
    const body = { flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers: { plan, stars }, metadata: { tags: { team: plan } } };
    const reply = await fetch(`${flow.base}/trpc/response.submit`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    assert.equal((await reply.json()).result.data.success, true);
  }
});

const card = (page) => page.locator("section.card", { has: page.getByRole("heading", { name: "Score", exact: true }) });

test("the results show the mean, the range and the distribution of the score", async () => {
  const page = await desk.open(`${of}/results`);
  await becomes(() => card(page).locator(".headline .big").innerText(), "6.75");
  await becomes(() => card(page).locator(".headline-base").innerText(), "mean of 4 responses");
  await until(async () => assert.ok((await card(page).locator("svg").count()) > 0));
  // Each group of a comparison has its own mean.
  await page.goto(world.address(`${of}/results?compare=tag.team`));
  for (const mean of [/12\.5\s+mean of 2 responses/, /\b1\s+mean of 2 responses/]) await matches(() => card(page).innerText(), mean);
});

test("the table is sorted by the score as a number", async () => {
  const page = await desk.open(`${of}/responses`);
  const scores = () => page.locator("td[data-label=Score]").allInnerTexts();
  await becomes(scores, ["10.5", "3", "-1", "14.5"], "newest first");
  await page.getByRole("columnheader", { name: "Score" }).getByRole("link").click();
  await becomes(scores, ["-1", "3", "10.5", "14.5"]);
  await page.getByRole("columnheader", { name: "Score" }).getByRole("link").click();
  await becomes(scores, ["14.5", "10.5", "3", "-1"]);
  await page.locator("[data-panel]").first().click();
  // Once, among what is known besides the answers.
  await becomes(() => page.locator("dl.facts dt:text-is('Score') + dd").allInnerTexts(), ["14.5"]);
});

test("results and table with scores fit and are accessible", async () => {
  for (const path of ["results", "results?compare=tag.team", "responses?sort=-score"]) {
    const page = await desk.open(`${of}/${path}`);
    await checkPage(page, `score ${path}`);
    await page.context().close();
  }
});
