// The documentation at /docs in Chromium: every page fits and is accessible, links and the search work without a script.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { checkAccess, checkFits } from "./support/console.mjs";
import { EVERY_APPEARANCE, openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());

const APPEARANCES = [
  { theme: "light", size: "desktop", viewport: { width: 1440, height: 900 } },
  { theme: "dark", size: "phone", viewport: { width: 390, height: 780 } },
];

for (const [turn, appearance] of APPEARANCES.entries()) {
  test(`pages fit, and axe reports no violations (${appearance.theme}, ${appearance.viewport.width} px)`, async () => {
    const page = await world.visit("/docs", appearance);
    const addresses = await page.locator("nav a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    const pages = [...new Set(addresses)].filter((address) => address.startsWith("/docs"));
    assert.ok(pages.length > 20 && pages.includes("/docs/reference"), pages.join());
    let at = 0;
    for (const address of [...pages, "/docs/search?q=grace+window", "/docs/nothing"]) {
      // Pages differ only in their text, so each has to fit a phone, and the rest is for half of them in each appearance.
      const isTurn = EVERY_APPEARANCE || at++ % APPEARANCES.length === turn;
      if (!isTurn && appearance.size !== "phone") continue;
      await page.goto(world.address(address));
      await checkFits(page, address);
      // The reference has thousands of elements.
      if (isTurn && address !== "/docs/reference") await checkAccess(page, address);
    }
    await page.context().close();
  });
}

test("a word leads to the section that explains it, by keyboard alone and without a script", async () => {
  const page = await world.visit("/docs", { script: false });
  await page.getByRole("searchbox").locator("visible=true").focus();
  await page.keyboard.type("grace window");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/docs/search?q=grace+window");
  await page.getByRole("link", { name: "Concepts › Grace window" }).click();
  await page.waitForURL("**/docs/concepts#grace-window");
  assert.equal(await page.locator("#grace-window").innerText(), "Grace window");
  assert.equal(await page.locator("aside [aria-current=page]").innerText(), "Concepts");
});

test("a search without a hit says so, and shows what was typed as text", async () => {
  const page = await world.visit(`/docs/search?q=${encodeURIComponent("<b>xyzzy</b>")}`);
  await page.getByText("Nothing has all of these words: <b>xyzzy</b>.").waitFor();
});

test("a page that does not exist is a 404 that leads on", async () => {
  const page = await world.visit("/docs");
  const reply = await page.goto(world.address("/docs/nothing"));
  assert.equal(reply.status(), 404);
  await page.getByRole("link", { name: "overview" }).click();
  await page.getByRole("heading", { name: "Documentation", level: 1 }).waitFor();
});

test("pictures are shown", async () => {
  const page = await world.visit("/docs/question-types");
  const widths = await page.locator("main img").evaluateAll((images) => Promise.all(images.map(async (image) => {
    await image.decode();
    return image.naturalWidth;
  })));
  assert.equal(widths.length, (await world.questionTypes()).length, "one picture for each type");
  assert.ok(widths.every((width) => width > 300), widths.join());
});

test("the language of samples is chosen once: for all operations, and for the next visit", async () => {
  const page = await world.visit("/docs/reference");
  const sample = (id, language) => page.locator(`#${id} details[data-language=${language}]`);
  assert.equal(await sample("createApp", "curl").getAttribute("open"), "");
  const summary = sample("createApp", "Python").locator("summary");
  await summary.scrollIntoViewIfNeeded();
  const before = (await summary.boundingBox()).y;
  await summary.click();
  assert.match(await sample("createApp", "Python").locator("code").innerText(), /^import json\nimport os\nfrom urllib\.request import Request, urlopen\n/);
  assert.equal(await sample("listAudit", "Python").getAttribute("open"), "", "all operations");
  assert.equal(await sample("listAudit", "curl").getAttribute("open"), null);
  const moved = Math.abs((await summary.boundingBox()).y - before);
  assert.ok(moved < 2, `what was clicked stays in its place: ${moved}`);
  await summary.click();
  assert.equal(await sample("createApp", "Python").getAttribute("open"), "", "one is always open");
  await page.reload();
  assert.equal(await sample("publishFlow", "Python").getAttribute("open"), "");
  const open = await page.locator(".samples > details[open]").count();
  assert.equal(open, await page.locator(".samples").count(), "one for each operation");
  await page.context().close();
});

test("a block of code is copied as it is", async () => {
  for (const address of ["/docs/reference", "/docs/flows-as-code"]) {
    const page = await world.visit(address);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const block = page.locator(".code").filter({ visible: true }).nth(1);
    await block.hover();
    await block.getByRole("button", { name: "Copy" }).click();
    await block.getByRole("button", { name: "Copied" }).waitFor();
    const text = await block.locator("code").evaluate((it) => it.textContent.replace(/\n$/, ""));
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
    await page.context().close();
  }
});

test("without a script, every sample can be opened, and no button is shown that would do nothing", async () => {
  const page = await world.visit("/docs/reference", { script: false });
  const article = page.locator("#createFlow");
  await article.locator("summary", { hasText: "TypeScript" }).click();
  await article.getByText('const reply = await fetch(').waitFor();
  assert.equal(await article.locator("details[data-language=curl]").getAttribute("open"), null, "the other one is closed");
  assert.equal(await page.locator(".copy").count(), 0);
  await page.context().close();
});
