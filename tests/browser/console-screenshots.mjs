// Takes screenshots of the console: `node console-screenshots.mjs` updates the three in the README, and
// `node console-screenshots.mjs FOLDER` saves every page and state into a folder, in both themes and three widths, for
// review. Pages that are wider than the screen, or cannot be opened, are listed at the end. `SLUICE_APPEARANCES=390-dark,1440-light` takes only
// some of them.

import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";

import { allPages, answer, LOCAL_WEBHOOKS, SURVEY } from "./support/console-pages.mjs";
import { atDesk } from "./support/console.mjs";
import { openWorld } from "./support/world.mjs";

const IMAGES = resolve(import.meta.dirname, "../../docs/images");
const WIDTHS = [390, 768, 1440];
const OUTSIDE = { "sign-in": "/console/sign-in", "sign-in-token": "/console/sign-in?with=token", welcome: "/console/welcome#nothing" };
const CHOSEN = process.env.SLUICE_APPEARANCES?.split(",");
/** A moment for charts and relative times. */
const REST_MS = 150;
const ACT_MS_MAX = 8000;
/** A longer page is cut off. */
const HEIGHT_MAX = 3000;

const world = await openWorld({ args: ["--hosted-sends-per-minute", "0", "--sign-ins-per-minute", "0", ...LOCAL_WEBHOOKS] });
const desk = await atDesk(world);
try {
  const flow = await world.flow(SURVEY, { name: "Product feedback" });
  await answer(flow, 140);
  const folder = process.argv[2];
  if (folder) await everything(flow, resolve(folder));
  else await readme(flow);
} finally {
  world.takeFaults();
  await world.close();
}

async function readme({ flowId }) {
  await mkdir(IMAGES, { recursive: true });
  const desktop = { viewport: { width: 1280, height: 860 }, deviceScaleFactor: 1.5 };
  await picture(`/console/flows/${flowId}/results`, desktop, "console-results.png", 745);
  await picture(`/console/flows/${flowId}/edit`, desktop, "console-editor.png");
  await picture(`/console/flows/${flowId}/responses`, { width: 390, viewport: { width: 390, height: 780 }, theme: "dark", deviceScaleFactor: 2 }, "console-phone.png");
}

/** The visible part of a page, for the README. */
async function picture(path, appearance, name, from = 0) {
  const page = await desk.open(path, appearance);
  await page.waitForLoadState("networkidle").catch(() => {});
  await page.evaluate((top) => scrollTo(0, top), from);
  await page.waitForTimeout(800);
  await page.screenshot({ path: resolve(IMAGES, name) });
  await page.context().close();
}

async function everything(flow, folder) {
  await mkdir(folder, { recursive: true });
  const { pages, restore } = await allPages(world, flow);
  const problems = [];
  for (const width of WIDTHS) {
    for (const theme of ["light", "dark"]) {
      if (CHOSEN && !CHOSEN.includes(`${width}-${theme}`)) continue;
      const first = await desk.open("/console", { width, theme });
      const context = first.context();
      const outside = await world.visit("/console/sign-in", { size: width < 500 ? "phone" : "desktop", viewport: { width, height: 900 }, theme });
      const shoot = async (page, name, isWhole) => {
        await page.waitForTimeout(REST_MS);
        const file = `${name}-${width}-${theme}`;
        const [content, screen, height] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth, document.documentElement.scrollHeight]);
        if (content > screen) problems.push(`${file}: ${content} px wide`);
        const clip = isWhole ? { x: 0, y: 0, width: screen, height: Math.min(height, HEIGHT_MAX) } : undefined;
        await page.screenshot({ path: resolve(folder, `${file}.png`), fullPage: isWhole, clip });
      };
      for (const [name, path] of Object.entries(OUTSIDE)) {
        await outside.goto(world.address(path), { waitUntil: "load" });
        await shoot(outside, name, true);
      }
      await outside.context().close();
      for (const [name, shown] of Object.entries(pages)) {
        const [path, act] = [shown].flat();
        const page = act ? await context.newPage() : first;
        page.setDefaultTimeout(ACT_MS_MAX);
        try {
          await page.goto(world.address(path), { waitUntil: "load" });
          await act?.(page);
          await shoot(page, name, !act);
        } catch (error) {
          problems.push(`${name}-${width}-${theme}: ${error.message.split("\n")[0]}`);
        }
        if (act) {
          await context.setOffline(false);
          await page.close({ runBeforeUnload: false });
          // A page that is closed may still save.
          await restore();
        }
      }
      await context.close();
      console.log(`${width} px, ${theme}: ${Object.keys(pages).length + Object.keys(OUTSIDE).length} pages`);
    }
  }
  if (problems.length > 0) {
    console.error(`Problems:\n${problems.join("\n")}`);
    process.exitCode = 1;
  }
}
