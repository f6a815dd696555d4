// Sharing a flow from the console: copied links and snippets work, and people are invited with personal links.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { agree, atDesk, checkAccess, checkPage } from "./support/console.mjs";
import { EVERY_TYPE } from "./support/flows.mjs";
import { fill } from "./support/answering.mjs";
import { becomes, matches, until } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const run = promisify(execFile);
const SHORT = {
  title: "It's \"short\" & <b>bold</b>",
  questions: [{ id: "nps", type: "nps", prompt: "How likely?", required: true }],
  translations: { de: { title: "Kurz", questions: { nps: { prompt: "Wie wahrscheinlich?" } } } },
};

let world, desk;
before(async () => {
  world = await openWorld();
  desk = await atDesk(world);
});
after(() => world?.close());

const share = ({ flowId }, query = "") => `/console/flows/${flowId}/share${query}`;
const withClipboard = { permissions: ["clipboard-read", "clipboard-write"] };
/** Clicks a copy button, and returns the copied text. */
async function copied(page, button) {
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await button.click();
  return until(async () => {
    const text = await page.evaluate(() => navigator.clipboard.readText());
    assert.notEqual(text, "", "nothing was copied");
    return text;
  });
}

test("the link is copied, and its responses are stored with its tags and language", async () => {
  const flow = await world.flow(SHORT);
  const page = await desk.open(share(flow), withClipboard);
  assert.equal(await copied(page, page.locator("[data-copy=link]")), world.address(flow.path));
  await page.locator("summary", { hasText: "Add a language or tags" }).click();
  await page.locator("#locale").selectOption("de");
  await page.locator("#name1").fill("campaign");
  await page.locator("#value1").fill("autumn & <winter>");
  await page.locator("button", { hasText: "Create link" }).click();
  await page.waitForURL(/name1=campaign/);
  const answering = await world.visit(await copied(page, page.locator("[data-copy=link]")));
  await becomes(() => answering.locator("html").getAttribute("lang"), "de");
  await fill(answering.locator("#q-nps"), "9");
  await answering.locator(".primary").click();
  await answering.locator("main[data-state=stored]").waitFor();
  const [stored] = await world.responses(flow);
  assert.deepEqual(stored.metadata.tags, { campaign: "autumn & <winter>" });
  assert.equal(stored.context.locale, "de");
});

test("the three calls store a response without changes, with every question type", async () => {
  const flow = await world.flow({ questions: EVERY_TYPE.map(([question]) => question) });
  const page = await desk.open(share(flow), withClipboard);
  const { stdout } = await run("bash", ["-euc", await copied(page, page.locator("[data-copy=calls-curl]"))]);
  const [stored] = await world.responses(flow);
  assert.ok(stdout.includes(stored.responseId), stdout);
  await page.locator("label", { hasText: "TypeScript" }).click();
  const script = (await copied(page, page.locator("[data-copy=calls-typescript]"))).replace("console.log(", "console.info(\"ID \" + ");
  const outcome = await run(process.execPath, ["--input-type=module", "-e", script]);
  const ids = (await world.responses(flow)).map(({ responseId }) => responseId);
  assert.equal(ids.length, 2);
  assert.ok(ids.some((id) => outcome.stdout.includes(id)), outcome.stdout + outcome.stderr);
});

test("the snippet shows the flow in another page", async () => {
  const flow = await world.flow(SHORT);
  const page = await desk.open(share(flow), withClipboard);
  const snippet = await copied(page, page.locator("[data-copy=embed]"));
  const host = await world.visit("/healthz");
  await host.setContent(`<!doctype html><title>Host</title>${snippet}`);
  await becomes(() => host.locator("iframe").getAttribute("title"), SHORT.title);
  await host.frameLocator("iframe").locator("#q-nps").waitFor();
  await host.waitForFunction(() => document.querySelector("iframe").height !== "480");
});

test("people are invited, their links work once, and one is revoked", async () => {
  const flow = await world.flow(SHORT);
  const page = await desk.open(share(flow), withClipboard);
  await page.locator("#file").setInputFiles({
    name: "people.csv", mimeType: "text/csv", buffer: Buffer.from("email,userId\nada@example.com,7\ngrace@example.com,\n"),
  });
  await page.waitForFunction(() => document.getElementById("people").value.includes("grace"));
  await page.locator("button", { hasText: "Create invitations" }).click();
  await becomes(() => page.locator(".flash").textContent(), "Invited. Each person has a personal link.");
  const row = (who) => page.locator("tbody tr", { hasText: who });
  const link = await copied(page, row("ada@example.com").locator("button", { hasText: "Copy link" }));
  const answering = await world.visit(link);
  await fill(answering.locator("#q-nps"), "9");
  await answering.locator(".primary").click();
  await answering.locator("main[data-state=stored]").waitFor();
  await row("grace@example.com").locator("button", { hasText: "Revoke" }).click();
  await agree(page);
  await matches(() => row("grace@example.com").textContent(), /Revoked/);
  await matches(() => row("ada@example.com").textContent(), /Answered/);
  await page.locator(".chip", { hasText: "Answered" }).click();
  await page.waitForURL(/state=completed/);
  await becomes(() => page.locator("tbody tr").count(), 1);
});

test("problems with the list are shown at the top, and the input is kept", async () => {
  const flow = await world.flow(SHORT);
  const page = await desk.open(share(flow));
  await page.locator("#people").fill("ada@example.com\nnot@an@address");
  await page.locator("button", { hasText: "Create invitations" }).click();
  await page.locator(".errors").waitFor();
  await matches(() => page.locator(".errors").textContent(), /Line 2/);
  await becomes(() => page.locator("#people").inputValue(), "ada@example.com\nnot@an@address");
  await checkAccess(page, "with an error");
});

test("axe reports no violations, and everything fits", async () => {
  const flow = await world.flow(SHORT);
  await world.server.admin("POST", `/flows/${flow.flowId}/invitations`, { identities: [{ type: "userId", value: "a-rather-long-user-id-of-somebody-0123456789" }] });
  const draft = await world.server.createFlow(flow.appId, "Draft", SHORT, { publish: false });
  for (const [path, what] of [[share(flow), "published"], [share(flow, "?name1=a&value1=b"), "built"], [share(draft), "a draft"]]) {
    const page = await desk.open(path);
    await page.evaluate(() => document.querySelectorAll("main details").forEach((details) => (details.open = true)));
    await checkPage(page, `share ${what}`);
    await page.context().close();
  }
});
