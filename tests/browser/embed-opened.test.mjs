// A flow that opens in another page from a button: as a pop-up, and as a slide-in.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { answerAll } from "./support/answering.mjs";
import { checkAccess } from "./support/console.mjs";
import { SHORT } from "./support/flows.mjs";
import { snippet, startHost } from "./support/host.mjs";
import { becomes, until } from "./support/until.mjs";
import { openWorld, SIZES } from "./support/world.mjs";

const SCRIPT_BYTES_MAX = 4 * 1024;

const world = await openWorld();
const host = await startHost(world);
after(async () => {
  host.close();
  await world.close();
});

/** A page of another origin with the snippet of the documentation, with these attributes. */
async function open(attributes, { body = "", ...more } = {}) {
  const flow = await world.flow(SHORT, { app: { allowedOrigins: [host.origin] } });
  const tag = snippet(2, world.server.url, flow.flowId).replace('data-kind="popup"', attributes);
  host.put(flow.path, `<p>Text</p>${body.replaceAll("fl_…", flow.flowId)}${tag}`);
  const page = await world.visit(`${host.origin}${flow.path}`, more);
  return { flow, page, frame: page.frameLocator("iframe"), dialog: page.locator("dialog"), button: page.locator(".opener") };
}

test("the script has less than 4 KB, may be loaded by any page, and is asked for again after an hour", async () => {
  const reply = await fetch(world.address("/f/assets/embed.js"), { headers: { "accept-encoding": "identity" } });
  const bytes = (await reply.arrayBuffer()).byteLength;
  console.log(`embed.js: ${bytes} bytes`);
  assert.ok(bytes < SCRIPT_BYTES_MAX, `${bytes} bytes`);
  assert.equal(reply.headers.get("cache-control"), "public, max-age=3600");
  assert.match(reply.headers.get("content-type"), /javascript/);
});

for (const kind of ["popup", "slide"]) {
  for (const [size, theme] of [["desktop", "light"], ["phone", "dark"]]) {
    test(`a ${kind} opens from its button, takes answers and closes (${size}, ${theme})`, async () => {
      const { flow, page, frame, dialog, button } = await open(`data-kind="${kind}" data-theme="${theme}"`, { size, theme });
      await becomes(() => button.innerText(), "Feedback");
      assert.equal(await page.locator("iframe").count(), 0, "nothing is loaded before");
      await checkAccess(page, "closed");
      await button.click();
      await frame.locator("#q-nps").waitFor();
      await checkAccess(page, "open");
      await until(async () => {
        const box = await dialog.boundingBox();
        assert.ok(box.x >= 0 && box.x + box.width <= SIZES[size].width && box.y >= 0 && box.y + box.height <= SIZES[size].height, JSON.stringify(box));
      });
      assert.equal(await frame.locator("body").evaluate((body) => getComputedStyle(body).backgroundColor), "rgba(0, 0, 0, 0)");
      await becomes(() => frame.locator("html").evaluate((html) => html.scrollHeight > innerHeight + 1), false, "the frame grows");
      await answerAll(frame, [["nps", "9"], ["name", "Ada"]]);
      assert.equal((await world.responses(flow)).length, 1);
      await dialog.locator(".closer").click();
      await becomes(() => dialog.isVisible(), false);
      await becomes(() => page.evaluate(() => document.querySelector(".sluice-embed").shadowRoot.activeElement?.className), "opener");
    });
  }
}

for (const kind of ["popup", "slide"]) {
  test(`a ${kind} is opened and closed with the keyboard, and keeps what was answered`, async () => {
    const { page, frame, dialog, button } = await open(`data-kind="${kind}"`);
    await button.focus();
    await page.keyboard.press("Enter");
    await frame.locator("#q-nps").waitFor();
    await frame.locator("label:has([value='9'])").click();
    await dialog.locator(".closer").focus();
    await page.keyboard.press("Escape");
    await becomes(() => dialog.isVisible(), false);
    await button.click();
    await becomes(() => frame.locator("[value='9']").isChecked(), true);
  });
}

test("it opens by itself after some seconds, once in a browser", async () => {
  const { page, dialog } = await open('data-kind="slide" data-after="0.2"');
  await dialog.waitFor();
  await page.reload();
  await page.locator(".opener").waitFor();
  await page.waitForTimeout(600);
  assert.equal(await dialog.isVisible(), false);
});

test("without the button, an element of the page opens it", async () => {
  const body = '<button id="own" data-sluice-open="fl_…">Tell us</button>';
  const { page, dialog, button } = await open('data-button="none" data-query="tags.plan=pro"', { body });
  await page.locator(".sluice-embed").waitFor({ state: "attached" });
  assert.equal(await button.count(), 0);
  await page.locator("#own").click();
  await dialog.waitFor();
  await becomes(() => page.locator("iframe").getAttribute("src").then((src) => new URL(src).search), "?tags.plan=pro&embed=1");
});
