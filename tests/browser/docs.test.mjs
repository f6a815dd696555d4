// The documentation at /docs in Chromium: every page fits and is accessible, links and the search work without a script.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { checkAccess, checkFits } from "./support/console.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());

const APPEARANCES = [
  { theme: "light", size: "desktop", viewport: { width: 1440, height: 900 } },
  { theme: "dark", size: "phone", viewport: { width: 390, height: 780 } },
];

for (const appearance of APPEARANCES) {
  test(`axe reports no violations on any page, and everything fits (${appearance.theme}, ${appearance.viewport.width} px)`, async () => {
    const page = await world.visit("/docs", appearance);
    const addresses = await page.locator("nav a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    const pages = [...new Set(addresses)].filter((address) => address.startsWith("/docs"));
    assert.ok(pages.length > 20 && pages.includes("/docs/reference"), pages.join());
    for (const address of [...pages, "/docs/search?q=grace+window", "/docs/nothing"]) {
      await page.goto(world.address(address));
      await checkFits(page, address);
      // The reference has the same frame, and thousands of elements.
      if (address !== "/docs/reference") await checkAccess(page, address);
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
  assert.equal(widths.length, 17);
  assert.ok(widths.every((width) => width > 300), widths.join());
});
