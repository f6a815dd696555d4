// The console in a browser: signed in once, pages in every look, and axe over each of them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Light and dark, on a phone, a tablet and a desktop, each of them once or more. */
export const LOOKS = [
  { theme: "light", width: 1440 }, { theme: "dark", width: 1440 }, { theme: "light", width: 768 }, { theme: "dark", width: 390 },
  { theme: "light", width: 390 },
];

/** Somebody at the console, signed in with the token of the tests. Attempts to sign in are limited, so this is done once. */
export async function atDesk(world) {
  const page = await world.visit("/console/sign-in?with=token");
  await page.locator("input[name=token]").fill(world.server.token);
  await page.locator("form:has(input[name=token]) button[type=submit]").click();
  await page.waitForURL(/\/console\/(apps|settings)/);
  const storageState = await page.context().storageState();
  await page.context().close();
  return {
    /** A page of the console, in a look of {theme, width}, or with any option of `world.visit`. */
    open: (path, { width = 1440, ...more } = {}) =>
      world.visit(path, { size: width < 500 ? "phone" : "desktop", viewport: { width, height: 900 }, storageState, ...more }),
  };
}

/** axe finds nothing to object to. */
export async function assertAccessible(page, what) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const { violations } = await page.evaluate((tags) => axe.run({ runOnly: { type: "tag", values: tags } }), TAGS);
  const found = violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
  assert.deepEqual(found, [], what);
}

/** Nothing is wider than the screen. */
export async function assertFits(page, what) {
  const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= screen, `${what}: ${content} px on a screen of ${screen} px`);
}
