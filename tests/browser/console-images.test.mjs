// The images of an app in the console: uploaded, listed with their uses, and deleted after a question, with and without JavaScript.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { agree, atDesk, checkPage, keepPicture } from "./support/console.mjs";
import { png } from "./support/png.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());
const desk = await atDesk(world);
const file = (name, buffer) => ({ name, mimeType: "image/png", buffer });

const images = (appId) => `/console/apps/${appId}/settings/images`;
const stored = async (appId) => (await world.server.admin("GET", `/apps/${appId}/assets`)).items.map(({ assetId }) => assetId);

async function upload(page, name, buffer) {
  await page.getByLabel("Upload an image").setInputFiles(file(name, buffer));
  await page.getByRole("button", { name: "Upload", exact: true }).click();
}

for (const script of [true, false]) {
  test(`an image is uploaded and deleted ${script ? "with" : "without"} JavaScript`, async () => {
    const { appId } = await world.server.createApp("Shop");
    const page = await desk.open(images(appId), { script });
    await upload(page, "red.png", png(320, 200, [220, 60, 60]));
    await page.locator(".toast", { hasText: "Uploaded." }).waitFor();
    const row = page.locator("table.images tbody tr");
    await matches(() => row.innerText(), /PNG\s+320 × 200\s.*Not used/s);
    assert.ok(await row.locator("img").evaluate(async (img) => { await img.decode(); return img.naturalWidth > 0; }));

    // A photo that is too large gets an explanation.
    await upload(page, "large.png", png(1_400, 1_400));
    await matches(() => page.locator(".errors").innerText(), /Image must have at most 2 MB/);
    await upload(page, "text.png", Buffer.from("no image"));
    await matches(() => page.locator(".errors").innerText(), /Image must be/);
    assert.equal((await stored(appId)).length, 1);

    await page.getByRole("link", { name: /^Delete the image/ }).click();
    if (script) {
      await matches(() => page.locator("dialog.ask[open]").innerText(), /Delete this image\?/);
      await agree(page);
    } else {
      await matches(() => page.locator("main h2").innerText(), /Delete this image\?/);
      await page.getByRole("button", { name: "Delete" }).click();
    }
    await page.locator(".toast", { hasText: "Deleted." }).waitFor();
    await becomes(() => stored(appId), []);
    await page.context().close();
  });
}

test("the list shows where each image is used, in both themes and at every width", async () => {
  const { appId } = await world.server.createApp("Shop");
  const editor = await desk.open(images(appId));
  for (const [name, picture] of [["red", png(320, 200, [220, 60, 60])], ["wide", png(1600, 400, [70, 90, 200])], ["tall", png(60, 400, [60, 160, 90])]]) {
    await upload(editor, `${name}.png`, picture);
    await editor.locator(".toast", { hasText: "Uploaded." }).waitFor();
  }
  await editor.context().close();
  const [, wide, red] = await stored(appId);
  const image = (assetId) => ({ assetId, alt: "A picture" });
  const definition = { title: "Pictures", questions: [
    { id: "which", type: "singleChoice", prompt: "Which colour do you like?", options: [{ id: "red", label: "Red", image: image(red) }, { id: "green", label: "Green" }] },
    { id: "why", type: "shortText", prompt: "Why, and what does the picture with the very long prompt show to you?", image: image(red) },
  ] };
  const { flowId } = await world.server.createFlow(appId, "Colours of the shop", definition);
  await world.server.admin("PATCH", `/apps/${appId}`, { hosted: { background: wide } });
  const page = await desk.open(images(appId));
  const rows = page.locator("table.images tbody tr");
  await matches(() => rows.nth(2).innerText(), /Colours of the shop\s+“Which colour do you like\?”, “Why, and/);
  await matches(() => rows.nth(1).innerText(), /The app’s design/);
  await matches(() => rows.nth(0).innerText(), /Not used/);
  assert.equal(await page.getByRole("link", { name: "Colours of the shop" }).last().getAttribute("href"), `/console/flows/${flowId}/edit`);
  await checkPage(page, "images");
  // What is used is not deleted; the question says why.
  await page.getByRole("link", { name: /^Delete the image/ }).nth(2).click();
  const dialog = page.locator("dialog.ask[open]");
  await matches(() => dialog.innerText(), /This image is in use.*Colours of the shop/s);
  assert.equal(await dialog.locator("form").count(), 0);
  await checkPage(page, "image in use");
  await agree(page);
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("link", { name: /^Delete the image/ }).first().click();
  await matches(() => dialog.innerText(), /Delete this image\?/);
  await keepPicture(page, "image deleted");
  await page.context().close();
  assert.equal((await stored(appId)).length, 3);
});
