// The event log in the console: newest first, pages in both directions, and filters by time, type and flow.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { atDesk, checkPage } from "./support/console.mjs";
import { becomes, until } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const RESPONSES = 120;
const PAGE_ROWS = 50;
const FEEDBACK = { title: "Product feedback", questions: [{ id: "why", type: "longText", prompt: "What would make it better?" }] };

let world, desk, flow, path;
before(async () => {
  world = await openWorld({ args: ["--hosted-sends-per-minute", "0"] });
  desk = await atDesk(world);
  flow = await world.flow(FEEDBACK, { name: "Product feedback" });
  path = `/console/apps/${flow.appId}/settings/events`;
  for (let number = 0; number < RESPONSES; number += 1) await submit(`Wish ${number}`);
  // The log is readable shortly after it was written.
  const filter = `/apps/${flow.appId}/events?types=response.created&limit=1000`;
  await until(async () => assert.equal((await world.server.admin("GET", filter)).items.length, RESPONSES));
});
after(() => world?.close());

async function submit(why) {
  const body = { flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers: { why } };
  const reply = await fetch(`${flow.base}/trpc/response.submit`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  assert.ok((await reply.json()).result.data.success);
}

/** The number of each wish on the page, in order. */
const wishes = (page) => page.locator("pre.data").evaluateAll((all) =>
  all.map((it) => /Wish (\d+)/.exec(it.textContent)?.[1]).filter(Boolean).map(Number));

/** Numbers that descend from one to another. */
const down = (from, to) => Array.from({ length: from - to + 1 }, (_, index) => from - index);

test("the newest events come first, and pages lead to older and newer ones", async () => {
  const page = await desk.open(path);
  const last = RESPONSES - 1;
  const first = await wishes(page);
  assert.deepEqual(first, down(last, last - PAGE_ROWS + 1));
  assert.equal(await page.getByRole("link", { name: "Newer" }).count(), 0);
  await page.getByRole("link", { name: "Older" }).click();
  await becomes(() => wishes(page), down(last - PAGE_ROWS, last - 2 * PAGE_ROWS + 1));
  await page.getByRole("link", { name: "Older" }).click();
  await becomes(() => wishes(page), down(last - 2 * PAGE_ROWS, 0));
  await until(async () => assert.ok(await page.getByText("Flow published").count() > 0, "the first event is at the end"));
  await page.getByRole("link", { name: "Newer" }).click();
  await becomes(() => wishes(page), down(last - PAGE_ROWS, last - 2 * PAGE_ROWS + 1));
  await page.getByRole("link", { name: "Newer" }).click();
  await becomes(() => wishes(page), first);
  await page.getByRole("link", { name: "Older" }).click();
  await becomes(async () => (await wishes(page))[0], last - PAGE_ROWS);
  await page.getByRole("link", { name: "Newest" }).click();
  await becomes(() => wishes(page), first);
  await page.context().close();
});

test("a time, a type and an event select a part of the log, with and without JavaScript", async () => {
  for (const script of [true, false]) {
    const page = await desk.open(path, { script });
    const show = () => page.getByRole("button", { name: "Show" }).click();
    await page.getByLabel("Until (UTC)").fill("2026-01-01T00:00");
    await show();
    await page.getByText("Nothing that matches has happened in this time").waitFor();
    await becomes(() => page.getByLabel("Until (UTC)").inputValue(), "2026-01-01T00:00");
    const tomorrow = new Date(Date.now() + 24 * 60 * 60 * 1_000).toISOString().slice(0, 16);
    await page.getByLabel("Until (UTC)").fill(tomorrow);
    await page.getByLabel("From").selectOption("Last hour");
    await show();
    await becomes(async () => (await wishes(page))[0], RESPONSES - 1);
    // The filter stays on the next page.
    await page.getByRole("link", { name: "Older" }).click();
    await becomes(async () => (await wishes(page))[0], RESPONSES - 1 - PAGE_ROWS);
    await becomes(() => page.getByLabel("Until (UTC)").inputValue(), tomorrow);
    await page.getByLabel("Type").selectOption("Flow published");
    await show();
    await becomes(() => page.locator("table tbody tr").count(), 1);
    await page.context().close();
  }
  const { items } = await world.server.admin("GET", `/apps/${flow.appId}/events?limit=1000`);
  const at = items.findIndex((event) => event.data.response?.answers.why === "Wish 99");
  const page = await desk.open(path);
  await page.getByLabel("After event").fill(items[at].id);
  await page.getByRole("button", { name: "Show" }).click();
  await becomes(() => wishes(page), down(RESPONSES - 1, 100));
  await page.getByRole("link", { name: "Older" }).click();
  await becomes(async () => (await wishes(page))[0], 99);
  await page.context().close();
});

test("the pages of the log fit and are accessible", async () => {
  const pages = { newest: path, empty: `${path}?until=2026-01-01T00%3A00`, open: path };
  for (const [name, address] of Object.entries(pages)) {
    const page = await desk.open(address);
    if (name === "open") {
      await page.getByRole("link", { name: "Older" }).click();
      await page.getByRole("link", { name: "Newest" }).waitFor();
      await page.locator("details.entry summary").first().click();
    }
    await checkPage(page, `events ${name}`);
    await page.context().close();
  }
});
