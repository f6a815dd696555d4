// One analysis from the first filter to a revoked report, with clicks as a user makes them; the test counts everything itself.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { agree, atDesk, checkFits, checkPage, settled } from "./support/console.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const PLANS = [{ id: "solo", label: "Solo, for one" }, { id: "team", label: "Team" }];
const USES = [{ id: "api", label: "The API" }, { id: "web", label: "The console" }];
const PROMPTS = { nps: "How likely are you to recommend us?", plan: "Which plan do you have?", use: "What do you use?", why: "What would make it better?" };
const SURVEY = {
  title: "Product feedback",
  questions: [
    { id: "nps", type: "nps", prompt: PROMPTS.nps },
    { id: "plan", type: "singleChoice", prompt: PROMPTS.plan, options: PLANS },
    { id: "use", type: "multipleChoice", prompt: PROMPTS.use, options: USES },
    { id: "why", type: "longText", prompt: PROMPTS.why },
  ],
};
const COUNT = 260;
const ANSWERS_PER_PAGE = 50;
const answered = Array.from({ length: COUNT }, (_, at) => ({
  team: at % 5 < 4 ? "red" : "blue",
  nps: at % 11,
  plan: PLANS[Math.floor(at / 3) % 2].id,
  use: USES.slice(0, 1 + (at % 2)).map(({ id }) => id),
  why: at % 9 === 8 ? undefined : `Answer ${at}: ${at % 4 ? "the export is SLOW, and big" : "nothing, thank you"}`,
}));
const low = answered.filter(({ team, nps }) => team === "red" && nps < 7);
const label = (options, id) => options.find((option) => option.id === id).label;

let world, desk, flow;
before(async () => {
  world = await openWorld();
  desk = await atDesk(world);
  flow = await world.flow(SURVEY, { name: "Product feedback" });
  for (const { team, ...answers } of answered) {
    const reply = await fetch(`${flow.base}/trpc/response.submit`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only",
        answers: { ...answers, nps: String(answers.nps) }, metadata: { tags: { team } },
      }),
    });
    const { result } = await reply.json();
    assert.ok(result.data.success, JSON.stringify(result));
  }
});
after(() => world?.close());

const responses = (page) => page.locator(".stat dd.big").first().textContent();
const card = (page, title) => page.locator("section.result", { has: page.getByRole("heading", { name: title, exact: true }) });
const texts = (page) => page.locator(".all-answers blockquote").allTextContents();

/** Checks a page at a main step: on a phone its width, since the desktop's pages are checked in every appearance. */
const checkStep = (page, name, width) => (width < 500 ? checkFits : checkPage)(page, name);

/** The rows of a CSV file, with quotes. */
function csv(text) {
  const [header, ...rows] = text.trimEnd().split("\r\n").map((line) =>
    [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain));
  return rows.map((cells) => Object.fromEntries(header.map((name, at) => [name, cells[at]])));
}

/** On a phone the filters are folded. */
async function unfoldFilters(page) {
  const folded = page.locator(".folded-filters:not([open]) > summary");
  if (await folded.isVisible()) await folded.click();
}

async function filterByScoreAndTag(page) {
  await unfoldFilters(page);
  await page.getByText("Add filter").click();
  await page.getByLabel("Question", { exact: true }).selectOption({ label: PROMPTS.nps });
  await page.locator("#operator").selectOption("lt");
  await page.locator("#value").fill("7");
  await page.locator("#value").press("Enter");
  await becomes(() => responses(page), String(answered.filter(({ nps }) => nps < 7).length));
  await unfoldFilters(page);
  await page.getByLabel("Tag", { exact: true }).selectOption("team=red");
  await becomes(() => responses(page), String(low.length));
}

async function crossTabulate(page) {
  await card(page, PROMPTS.plan).getByRole("link", { name: "Cross-tabulate" }).click();
  await page.getByLabel("Answers (columns)").selectOption({ label: PROMPTS.use });
  await page.getByRole("button", { name: "Show" }).click();
  const counts = () => page.locator(".crosstab-table tbody tr").evaluateAll((rows) =>
    rows.map((row) => [...row.cells].map((cell) => cell.firstChild.textContent.trim())));
  const of = (found) => [...USES.map(({ id }) => found.filter(({ use }) => use.includes(id)).length), found.length].map(String);
  const expected = PLANS.map(({ id, label: name }) => [name, ...of(low.filter(({ plan }) => plan === id))]);
  await becomes(counts, [...expected, ["All", ...of(low)]]);
}

async function readAllAnswers(page) {
  const all = low.flatMap(({ why }) => (why ? [why] : [])).reverse();
  const slow = all.filter((text) => /slow/i.test(text));
  assert.ok(slow.length > ANSWERS_PER_PAGE, "the search has a second page");
  await page.getByRole("link", { name: "← Results" }).click();
  await card(page, PROMPTS.why).getByRole("link", { name: /^Read (all \d+ answers|the answer):/ }).click();
  await becomes(() => texts(page), all.slice(0, ANSWERS_PER_PAGE));
  await page.getByRole("searchbox").fill("slow");
  await page.getByRole("button", { name: "Search" }).click();
  await becomes(() => texts(page), slow.slice(0, ANSWERS_PER_PAGE));
  await page.getByRole("link", { name: "Older" }).click();
  await becomes(() => texts(page), slow.slice(ANSWERS_PER_PAGE));
}

async function exportWithLabels(page) {
  await page.getByRole("link", { name: "← Results" }).click();
  await page.getByRole("link", { name: "Show these responses" }).click();
  await becomes(() => page.locator(".match-count strong").textContent(), `${low.length} responses`);
  await settled(page);
  await page.getByRole("link", { name: "Export" }).click();
  const dialog = page.getByRole("dialog", { name: "Export responses" });
  await dialog.getByLabel(/^CSV/).check();
  await dialog.getByLabel(/^Labels/).check();
  const [download] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: "Download" }).click()]);
  await dialog.getByText(`Done: ${low.length} responses.`).waitFor();
  await becomes(() => dialog.locator("progress").evaluate((bar) => [bar.position, bar.offsetHeight]), [1, 8], "a thin bar, and full");
  const rows = csv(await readFile(await download.path(), "utf8"));
  const found = rows.map((row) => [...Object.values(PROMPTS).map((prompt) => row[prompt]), row["tag.team"]]);
  const expected = low.map(({ nps, plan, use, why }) =>
    [String(nps), label(PLANS, plan), use.map((id) => label(USES, id)).join(";"), why ?? "", "red"]);
  assert.deepEqual(found, expected);
  return dialog;
}

async function share(page) {
  await page.getByRole("link", { name: "Results", exact: true }).click();
  await filterByScoreAndTag(page);
  await page.getByRole("link", { name: "Share this report" }).click();
  await page.getByLabel("Title").fill("Why people leave");
  await page.getByRole("checkbox", { name: PROMPTS.why }).uncheck();
  await page.getByRole("button", { name: "Create link" }).click();
  return page.locator("#link").textContent();
}

for (const width of [1440, 390]) {
  test(`from a filter to a revoked report, ${width} px`, async () => {
    const step = (shown, name) => checkStep(shown, `${name} ${width}`, width);
    const page = await desk.open(`/console/flows/${flow.flowId}/results`, { acceptDownloads: true, width });
    await filterByScoreAndTag(page);
    await step(page, "1 filtered");
    await crossTabulate(page);
    await step(page, "2 crosstab");
    await readAllAnswers(page);
    await step(page, "3 answers");
    const dialog = await exportWithLabels(page);
    await step(page, "4 export");
    await dialog.getByRole("button", { name: "Close" }).click();
    await step(page, "5 responses");
    const link = await share(page);
    await step(page, "6 shared");

    const reader = await world.visit(new URL(link).pathname, { size: width < 500 ? "phone" : "desktop", viewport: { width, height: 900 } });
    assert.deepEqual((await reader.context().cookies()).map(({ name }) => name), [], "the reader is not signed in");
    await becomes(() => reader.locator("h1").textContent(), "Why people leave");
    await matches(() => reader.locator(".shared-head").textContent(), new RegExp(`team: red.* ${low.length} responses`));
    await becomes(() => reader.locator("section.result h2").allTextContents(),
      ["Responses over time", PROMPTS.nps, PROMPTS.plan, PROMPTS.use]);
    await step(reader, "7 report");

    await page.getByRole("button", { name: /^Revoke/ }).first().click();
    await agree(page);
    await matches(() => page.locator(".flash").textContent(), /Revoked/);
    const reply = await reader.reload();
    assert.equal(reply.status(), 404);
    await becomes(() => reader.locator("h1").textContent(), "This report is not available");
    await step(reader, "8 revoked");
    for (const context of [page, reader].map((it) => it.context())) await context.close();
  });
}
