// Signed-in console users, and axe checks of a page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";

import { EVERY_APPEARANCE } from "./world.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The token that the server was started with. */
export const ADMIN_TOKEN = "token-of-the-client-tests-0123456789";

/** A new browser that is signed in and has opened a page of the console. */
export async function openConsole(world, path, appearance = {}) {
  const page = await world.visit(`/console/sign-in?to=${encodeURIComponent(path)}`, appearance);
  await page.locator("[name=token]").fill(ADMIN_TOKEN);
  await page.locator("[name=token]").press("Enter");
  await page.waitForURL((url) => !url.pathname.startsWith("/console/sign-in"));
  return page;
}

/** Waits until a page is loaded completely. One whose results take longer than a second shows their progress, and reloads itself. */
export async function settled(page) {
  await page.locator(".computing").waitFor({ state: "detached" });
  await page.waitForLoadState("load");
}

/** The axe violations of a completely loaded page. */
export async function checkAccess(page, what) {
  await settled(page);
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  // The preview frame is the hosted page, which has its own tests.
  const { violations } = await page.evaluate((tags) => axe.run({ exclude: ["iframe"] }, { runOnly: { type: "tag", values: tags }, iframes: false, preload: false, resultTypes: ["violations"] }), TAGS);
  const found = violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
  assert.deepEqual(found, [], what);
}

/** Agrees in the dialog that an action opened. */
export const agree = (page) => page.locator("dialog.ask[open] .buttons .primary").click();

const TABLET = 768;
/** Light on a desktop and dark on a phone, or with `SLUICE_EVERY_APPEARANCE` both themes at every width. */
export const APPEARANCES = EVERY_APPEARANCE
  ? [1440, TABLET, 390].flatMap((width) => ["light", "dark"].map((theme) => ({ theme, width })))
  : [{ theme: "light", width: 1440 }, { theme: "dark", width: 390 }];

/** A user who stays signed in over many pages: sign-in attempts are limited, so this happens once. */
export async function atDesk(world) {
  const page = await openConsole(world, "/console");
  const storageState = await page.context().storageState();
  await page.context().close();
  return {
    /** A page of the console with {theme, width}, or with any option of `world.visit`. */
    open: (path, { width = 1440, ...more } = {}) =>
      world.visit(path, { size: width < 500 ? "phone" : "desktop", viewport: { width, height: 900 }, storageState, ...more }),
  };
}

let pagesChecked = 0;
const KEEPS_PICTURES = Boolean(process.env.SLUICE_SCREENSHOTS);

/**
 * A page fits and is accessible, without being loaded again. By default it always has to fit a phone, where little does, and in turn a
 * desktop; axe sees it in one of the two, and in the other the pages next to it. Keeps a picture of each.
 */
export async function checkPage(page, what) {
  const size = page.viewportSize();
  // 0, 1, 1, 0, and so on: of pages in pairs, each kind is seen in both.
  const turn = (pagesChecked + Math.floor(pagesChecked / 2)) % APPEARANCES.length;
  pagesChecked += 1;
  for (const [number, { theme, width }] of APPEARANCES.entries()) {
    if (!EVERY_APPEARANCE && !KEEPS_PICTURES && number !== turn && width > TABLET) continue;
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 900 });
    const name = `${what} ${theme} ${width}`;
    if (EVERY_APPEARANCE || number === turn) await checkAccess(page, name);
    await checkFits(page, name);
    await keepPicture(page, name);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(size);
}

/** Keeps a picture in the folder that `SLUICE_SCREENSHOTS` names, if it is set. */
export async function keepPicture(shown, name, options = { fullPage: true }) {
  const folder = process.env.SLUICE_SCREENSHOTS;
  if (!folder) return;
  await mkdir(folder, { recursive: true });
  await shown.screenshot({ path: `${folder}/${name.replaceAll(/[^a-z0-9]+/gi, "-")}.png`, ...options });
}

/** Nothing is wider than the screen; on a desktop page also not once its window is as narrow as a tablet. */
export async function checkFits(page, what) {
  await settled(page);
  await checkWidth(page, what);
  const size = page.viewportSize();
  if (size.width <= TABLET) return;
  await page.setViewportSize({ ...size, width: TABLET });
  await checkWidth(page, what);
  await page.setViewportSize(size);
}

async function checkWidth(page, what) {
  const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= screen, `${what}: ${content} px on a screen of ${screen} px`);
}
