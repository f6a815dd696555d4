// The table of responses: columns, order, count, saved views, and an export of exactly what is shown; with and without
// JavaScript. The test sorts and counts the answers itself.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { checkFits, checkPage } from "./support/console.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const PLANS = [{ id: "solo", label: "Solo" }, { id: "team", label: "Team" }];
const MORE = Array.from({ length: 8 }, (_, at) => ({ id: `more${at}`, type: "shortText", prompt: `What about part ${at}?` }));
const SURVEY = {
  title: "Table",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely are you to recommend us to a friend or colleague?" },
    { id: "plan", type: "singleChoice", prompt: "Which plan do you have?", options: PLANS },
    { id: "why", type: "longText", prompt: "Why?" },
    ...MORE,
  ],
};
const PASSWORD = "correct horse battery";
const COUNT = 120;

const answered = Array.from({ length: COUNT }, (_, at) => ({
  nps: at % 6 === 5 ? undefined : (at * 7) % 11,
  plan: PLANS[at % 2].id,
  why: `Answer ${at}. ${"The export could be quicker, and the pages could be calmer. ".repeat(at % 4)}`,
  team: ["red", "blue"][at % 3 === 0 ? 0 : 1],
}));

let world, flow, list, storageState;
before(async () => {
  world = await openWorld();
  flow = await world.flow(SURVEY, { name: "Table" });
  list = `/console/flows/${flow.flowId}/responses`;
  for (const response of answered) response.id = await respond(response);
  storageState = await userState();
});
after(() => world?.close());

async function respond({ nps, plan, why, team }) {
  const answers = { plan, why, ...(nps === undefined ? {} : { nps: String(nps) }) };
  for (const { id } of MORE) answers[id] = `Text for ${id}`;
  const reply = await fetch(`${flow.base}/trpc/response.submit`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only",
      answers, metadata: { tags: { team } }, context: { locale: "en" },
    }),
  });
  const { result } = await reply.json();
  assert.ok(result.data.success, JSON.stringify(result));
  return result.data.responseId;
}

/** Views belong to users, so this signs in as one. */
async function userState() {
  const { link } = await world.server.admin("POST", "/users", { email: "ann@mail.example", name: "Ann", role: "editor", appId: flow.appId });
  const page = await world.visit(new URL(link).pathname + new URL(link).hash);
  await page.locator("#password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set password" }).click();
  await page.getByText("Your password is set").waitFor();
  const state = await page.context().storageState();
  await page.context().close();
  return state;
}

const open = (path, { width = 1440, ...more } = {}) =>
  world.visit(path, { size: width < 500 ? "phone" : "desktop", viewport: { width, height: 900 }, storageState, acceptDownloads: true, ...more });

const rows = (page) => page.locator("tbody tr[data-id]").evaluateAll((all) => all.map((row) => row.dataset.id));
const headings = (page) => page.locator("thead th").evaluateAll((all) => all.map((cell) => cell.title));
/** Without a script the number of matches is there, or a link that reloads the page. */
const reloadUntilCounted = (page, count) => becomes(async () => {
  const found = await page.locator("[data-count]").textContent();
  if (found.includes("Reload")) await page.reload();
  return found.split(" match")[0];
}, `${count} responses`);
const countOf = (page) => page.locator("[data-count] strong").textContent();

/** Those of a team, with the highest score first, unanswered last, and then newest first. */
function expected(team) {
  const found = answered.filter((it) => it.team === team).toReversed();
  return found.sort((one, other) => (other.nps ?? -1) - (one.nps ?? -1));
}

/** The rows of a CSV file as objects. No answer of this test needs quotes. */
async function csv(download) {
  const [header, ...lines] = (await readFile(await download.path(), "utf8")).trimEnd().split("\r\n").map((line) => line.split(","));
  return { header, rows: lines.map((cells) => Object.fromEntries(header.map((name, at) => [name, cells[at]]))) };
}

async function exported(page, columns) {
  await page.locator("a", { hasText: "Export" }).first().click();
  await page.locator("#export").getByLabel(columns).check();
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#export button[type=submit]").click()]);
  return csv(download);
}

test("columns, order, count, a saved view, and an export of exactly that", async () => {
  const page = await open(`${list}?tag.team=blue`);
  await page.locator("summary", { hasText: "Columns and order" }).click();
  for (const label of ["Version", "Consent", "Tags", "Why?"]) await page.locator(".column-list").getByLabel(label, { exact: true }).uncheck();
  for (const { prompt } of MORE) {
    const box = page.locator(".column-list").getByLabel(prompt, { exact: true });
    if (await box.isChecked()) await box.uncheck();
  }
  await page.locator(".column-list").getByLabel("Tag team", { exact: true }).check();
  await page.locator(".column-list").getByLabel("Response ID", { exact: true }).check();
  // Up with the keyboard until it is first.
  const up = page.getByRole("button", { name: "Move up: Which plan do you have?" });
  await up.focus();
  while (await up.isEnabled()) await page.keyboard.press("Enter");
  await page.locator("#sort_column").selectOption({ label: "How likely are you to recommend us to a friend or colleague?" });
  await page.locator("#direction").selectOption("descending");
  await page.locator(".layout").getByLabel("Compact").check();
  await page.locator(".layout button[type=submit]").click();
  await page.waitForURL(/columns=answer\.plan,answer\.nps,/);
  assert.match(page.url(), /tag\.team=blue/);
  const blue = expected("blue");
  await becomes(() => rows(page), blue.slice(0, 50).map(({ id }) => id));
  const [, plan, nps, ...rest] = await headings(page);
  assert.deepEqual([plan, nps, ...rest.sort()], ["Which plan do you have?", SURVEY.questions[0].prompt, "Response ID", "Tag team"]);
  await becomes(() => countOf(page), `${blue.length} responses`);
  assert.equal(await page.locator("th[aria-sort=descending]").getAttribute("title"), SURVEY.questions[0].prompt);
  await page.locator("a[rel=next]").click();
  await becomes(() => rows(page), blue.slice(50, 100).map(({ id }) => id));

  await page.locator("summary", { hasText: "Save view" }).click();
  await page.locator("#view_name").fill("Blue by score");
  await page.getByLabel("Open responses with this view").check();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved.").waitFor();
  await page.goto(world.address(list));
  await page.waitForURL(/tag\.team=blue.*sort=-answer\.nps/);
  await becomes(() => rows(page), blue.slice(0, 50).map(({ id }) => id), "the default view opens");
  await page.locator(".views a", { hasText: "All responses" }).click();
  await becomes(() => countOf(page), `${COUNT} responses`);
  await becomes(() => rows(page), answered.toReversed().slice(0, 50).map(({ id }) => id));
  await page.locator(".views a", { hasText: "Blue by score" }).click();
  await becomes(() => page.locator(".views [aria-current]").textContent(), "Blue by score (default)");

  const table = await exported(page, "The columns of the table");
  assert.deepEqual(table.header.slice(0, 3), ["receivedAt", "plan", "nps"]);
  assert.deepEqual(table.header.slice(3).sort(), ["responseId", "tag.team"]);
  const oldestFirst = answered.filter(({ team }) => team === "blue");
  assert.deepEqual(table.rows.map(({ responseId, nps, plan }) => [responseId, nps, plan]),
    oldestFirst.map(({ id, nps, plan }) => [id, nps === undefined ? "" : String(nps), plan]));
  world.takeFaults?.();
});

test("a heading sorts, and again reverses", async () => {
  const page = await open(`${list}?tag.team=red`);
  const heading = () => page.locator("thead a", { hasText: "How likely" });
  await heading().click();
  await page.waitForURL(/sort=answer\.nps/);
  await heading().click();
  await page.waitForURL(/sort=-answer\.nps/);
  await becomes(() => rows(page), expected("red").map(({ id }) => id));
  await page.locator("thead a", { hasText: "Received" }).click();
  await page.waitForURL(/sort=receivedAt/);
  await becomes(() => rows(page), answered.filter(({ team }) => team === "red").map(({ id }) => id));
});

test("the header and the first column stay in view, and only the table scrolls sideways", async () => {
  const columns = SURVEY.questions.map(({ id }) => `answer.${id}`).join(",");
  const page = await open(`${list}?columns=${columns},version,tags`, { width: 768 });
  const places = () => page.evaluate(() => {
    const [head, first] = [document.querySelector("thead th:nth-child(2)"), document.querySelector("tbody td")].map((it) => it.getBoundingClientRect());
    const box = document.querySelector(".responses .scroll").getBoundingClientRect();
    return [Math.round(head.top - box.top), Math.round(first.left - box.left)];
  });
  await page.locator(".responses .scroll").evaluate((box) => box.scrollTo(300, 400));
  assert.deepEqual(await places(), [1, 1]);
  await checkFits(page, "a wide table");
});

test("everything works without a script", async () => {
  const page = await open(`${list}?tag.team=blue`, { script: false });
  await page.locator("summary", { hasText: "Columns and order" }).click();
  await page.locator(".column-list").getByLabel("Position of Which plan do you have?").fill("1");
  await page.locator(".column-list").getByLabel("Position of Version").fill("2");
  await page.locator("#sort_column").selectOption("answer.nps");
  await page.locator("#direction").selectOption("descending");
  await page.locator(".layout button[type=submit]").click();
  await page.waitForURL(/sort=-answer\.nps/);
  const blue = expected("blue");
  await becomes(() => rows(page), blue.slice(0, 50).map(({ id }) => id));
  await reloadUntilCounted(page, blue.length);
  await page.locator("summary", { hasText: "Save view" }).click();
  await page.locator("#view_name").fill("Without script");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved.").waitFor();
  await page.locator(".views a", { hasText: "Without script" }).click();
  await becomes(() => rows(page), blue.slice(0, 50).map(({ id }) => id));
  await page.locator("summary", { hasText: "Save view" }).click();
  await page.getByRole("button", { name: "Delete: Without script" }).click();
  await page.getByText("Deleted.").waitFor();
  assert.equal(await page.locator(".views a", { hasText: "Without script" }).count(), 0);
  await page.goto(world.address(`${list}?answer.nps%5Blt%5D=9`));
  const below = answered.filter(({ nps }) => nps < 9).length;
  await reloadUntilCounted(page, below);
});

test("the pages are accessible and fit in both themes at every width", async () => {
  // Few rows: axe is slow, and all rows are alike.
  const few = "tag.team=blue&answer.nps%5Blt%5D=2";
  const page = await open(`${list}?${few}&sort=-answer.nps`);
  await page.locator(".responses-table").waitFor();
  await checkPage(page, "table sorted");
  await page.locator("summary", { hasText: "Columns and order" }).click();
  await checkPage(page, "table columns");
  await page.locator("summary", { hasText: "Columns and order" }).click();
  await page.locator("summary", { hasText: "Save view" }).click();
  await checkPage(page, "table views");
  await page.goto(world.address(`${list}?${few}&density=compact&sort=-receivedAt`));
  await checkPage(page, "table compact");
  await page.context().close();
});
