// The design of an app and of its flows: what a flow replaces is on its page, in both themes, with and without script.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { fill } from "./support/answering.mjs";
import { agree, atDesk, checkPage, keepPicture } from "./support/console.mjs";
import { logo, SHORT } from "./support/flows.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());
const desk = await atDesk(world);

const designOf = async ({ flowId }) => (await world.server.admin("GET", `/flows/${flowId}`)).design;
const part = (page, name) => page.locator(`[data-part=${name}]`);
const choose = (page, name, label) => part(page, name).locator("label", { hasText: label }).first().click();
const preview = (page) => page.frameLocator(".preview-pane iframe");

/** The colours of the main button of a page, and its background. */
const colours = (page) => page.evaluate(() => {
  const { backgroundColor: button, color: text } = getComputedStyle(document.querySelector(".primary"));
  return { button, text, ground: getComputedStyle(document.body).backgroundColor };
});

test("a flow overrides the accent of its app at once, in light and dark, until it is reset", async () => {
  const flow = await world.flow(SHORT);
  const app = await desk.open(`/console/apps/${flow.appId}/settings/design`);
  await choose(app, "accentColor", "Custom colour");
  await app.locator("#accentColor-own").fill("#0a7d4f");
  await becomes(async () => (await world.server.admin("GET", `/apps/${flow.appId}`)).hosted.accentColor, "#0a7d4f");
  await choose(app, "corners", "Square");
  await becomes(async () => (await world.server.admin("GET", `/apps/${flow.appId}`)).hosted.corners, "square");
  await app.locator("#saving[data-state=saved]").waitFor();

  const page = await desk.open(`/console/flows/${flow.flowId}/design`);
  await matches(() => part(page, "accentColor").textContent(), /Same as the app \(#0a7d4f\)/);
  assert.equal(await page.locator("#accentColor-own").isVisible(), false);
  await choose(page, "accentColor", "Custom colour");
  await page.locator("#accentColor-own").fill("#ffcc00");
  await matches(() => page.locator("#accentColor-note").textContent(), /Button texts are black: contrast 13\.8 to 1, very easy to read\. In light mode, links/);
  await becomes(async () => (await designOf(flow)).accentColor, "#ffcc00");
  await becomes(() => preview(page).locator(".primary").evaluate((it) => getComputedStyle(it).backgroundColor), "rgb(255, 204, 0)");
  await choose(page, "background", "Custom colour");
  await page.locator("#background-own").fill("#fdf6e3");
  await becomes(async () => (await designOf(flow)).background, "#fdf6e3");
  await matches(() => page.locator("#background-note").textContent(), /^In dark mode it is shown as #/);

  for (const script of [true, false]) {
    for (const theme of ["light", "dark"]) {
      const shown = await world.visit(flow.path, { script, theme });
      const { button, text, ground } = await colours(shown);
      assert.deepEqual([button, text], ["rgb(255, 204, 0)", "rgb(0, 0, 0)"], `${theme} ${script}`);
      assert.equal(ground === "rgb(253, 246, 227)", theme === "light", `${theme} ${script}: ${ground}`);
      // The corners are still those of the app.
      assert.equal(await shown.locator(".primary").evaluate((it) => getComputedStyle(it).borderRadius), "0px");
    }
  }
  // An embedded page is transparent, and its address chooses the theme.
  const embedded = await world.visit(`${flow.path}?embed=1&theme=dark`);
  assert.equal((await colours(embedded)).ground, "rgba(0, 0, 0, 0)");

  await page.getByRole("button", { name: "Use the app’s design" }).click();
  await agree(page);
  await page.getByText("Reset. This flow now uses the app’s design.").waitFor();
  assert.deepEqual(new Set(Object.values(await designOf(flow))), new Set([null]));
  const { button } = await colours(await world.visit(flow.path));
  assert.equal(button, "rgb(10, 125, 79)");
});

test("what a colleague changes on another part stays", async () => {
  const flow = await world.flow(SHORT);
  const page = await desk.open(`/console/flows/${flow.flowId}/design`);
  await world.server.admin("PATCH", `/flows/${flow.flowId}`, { design: { font: "serif", corners: "round" } });
  await choose(page, "theme", "Dark");
  await becomes(async () => (await designOf(flow)).theme, "dark");
  await choose(page, "corners", "Square");
  await becomes(async () => (await designOf(flow)).corners, "square");
  assert.equal((await designOf(flow)).font, "serif");
  const shown = await world.visit(flow.path);
  assert.equal(await shown.locator("html").getAttribute("data-theme"), "dark");
});

test("logos are uploaded, shown by theme and removed; button texts are in every language", async () => {
  const flow = await world.flow({ ...SHORT, translations: { de: { title: "Kurz" } } }, { app: { hosted: { logo: logo("#0000ff") } } });
  const page = await desk.open(`/console/flows/${flow.flowId}/design`);
  const file = (colour) => ({ name: "logo.svg", mimeType: "image/svg+xml", buffer: Buffer.from(logo(colour).split(",")[1], "base64") });
  for (const [name, colour] of [["logo", "#c2185b"], ["darkLogo", "#ffcc00"]]) {
    await choose(page, name, "Custom logo");
    await page.locator(`#${name}-own`).setInputFiles(file(colour));
    await matches(async () => (await designOf(flow))[name], /^data:image\/svg/);
  }
  await choose(page, "sendText", "Custom text");
  await page.locator("#sendText-own").fill("Los!");
  await becomes(async () => (await designOf(flow)).sendText, "Los!");
  for (const [theme, chosen] of [["light", "logo"], ["dark", "darkLogo"]]) {
    const shown = await world.visit(`${flow.path}?context.locale=de`, { theme });
    const bytes = await shown.locator(".logo").evaluate(async (image) => (await fetch(image.currentSrc)).text());
    assert.equal(`data:image/svg+xml;base64,${Buffer.from(bytes).toString("base64")}`, (await designOf(flow))[chosen], theme);
    await fill(shown.locator("#q-nps"), "9");
    await shown.getByRole("button", { name: "Weiter" }).click();
    await shown.getByRole("button", { name: "Los!" }).waitFor();
  }
  await choose(page, "logo", "No logo");
  await becomes(async () => (await designOf(flow)).logo, "none");
  await choose(page, "darkLogo", "Same as the app");
  await becomes(async () => (await designOf(flow)).darkLogo, null);
  assert.equal(await (await world.visit(flow.path)).locator(".logo").count(), 0);
});

test("an uploaded image is the background behind a panel, and not of an embedded page", async () => {
  const flow = await world.flow(SHORT);
  const page = await desk.open(`/console/flows/${flow.flowId}/design`);
  const png = await page.evaluate(() => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 64, height: 48 });
    const drawing = canvas.getContext("2d");
    drawing.fillStyle = "#c2185b";
    drawing.fillRect(0, 0, 64, 48);
    return canvas.toDataURL("image/png").split(",")[1];
  });
  const file = { name: "wall.png", mimeType: "image/png", buffer: Buffer.from(png, "base64") };
  for (const [path, stored] of [
    [`/console/flows/${flow.flowId}/design`, async () => (await designOf(flow)).background],
    [`/console/apps/${flow.appId}/settings/design`, async () => (await world.server.admin("GET", `/apps/${flow.appId}`)).hosted.background],
  ]) {
    const form = await desk.open(path);
    await choose(form, "background", "Custom image");
    await form.locator("[data-uploads]").setInputFiles(file);
    await matches(stored, /^as_/);
    await matches(() => form.locator("#background-note").textContent(), /^Texts are on a panel/);
  }
  const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundImage);
  for (const theme of ["light", "dark"]) {
    const shown = await world.visit(flow.path, { theme });
    assert.match(await background(shown), /\/a\/as_/);
    const panel = await shown.locator("main").evaluate((main) => getComputedStyle(main).backgroundColor);
    assert.equal(panel, theme === "light" ? "rgb(251, 251, 250)" : "rgb(19, 22, 25)");
    await keepPicture(shown, `background ${theme}`);
  }
  assert.equal(await background(await world.visit(`${flow.path}?embed=1`)), "none");
});

test("an invalid colour is explained next to its field and not saved", async () => {
  const flow = await world.flow(SHORT);
  const page = await desk.open(`/console/flows/${flow.flowId}/design`);
  await choose(page, "accentColor", "Custom colour");
  await becomes(async () => (await designOf(flow)).accentColor, "#0f6b73");
  await page.locator("#accentColor-own").fill("#12");
  await page.locator("#accentColor-error").waitFor();
  await matches(() => page.locator("#accentColor-error").textContent(), /Accent colour must be a colour such as/);
  await page.locator("#saving[data-state=invalid]").waitFor();
  await page.locator("#accentColor-own").fill("#123456");
  await becomes(async () => (await designOf(flow)).accentColor, "#123456");
  // The draft is stored before its reply reaches the page.
  await page.locator("#accentColor-error").waitFor({ state: "detached" });
});

test("the preview shows the last change, also if an earlier one is still being loaded", async () => {
  const flow = await world.flow(SHORT);
  const page = await desk.open(`/console/flows/${flow.flowId}/design`);
  let release;
  const isReleased = new Promise((resolve) => (release = resolve));
  let asked = 0;
  await page.route(/\/preview\?/, async (route) => {
    asked += 1;
    if (asked > 1) return route.continue();
    const response = await route.fetch();
    await isReleased;
    // The browser may have left it.
    await route.fulfill({ response }).catch(() => {});
  });
  await choose(page, "accentColor", "Custom colour");
  await becomes(() => asked, 1);
  await page.locator("#accentColor-own").fill("#ffcc00");
  await becomes(async () => (await designOf(flow)).accentColor, "#ffcc00");
  await page.locator("#saving[data-state=saved]").waitFor();
  release();
  await becomes(() => preview(page).locator(".primary").evaluate((it) => getComputedStyle(it).backgroundColor), "rgb(255, 204, 0)");
});

test("a save is tried again after a failure, and not after a refusal", async () => {
  const flow = await world.flow(SHORT);
  const page = await desk.open(`/console/flows/${flow.flowId}/design`);
  let status = 503;
  await page.route("**/design", (route) => (route.request().method() === "POST" ? route.fulfill({ status }) : route.continue()));
  await choose(page, "corners", "Round");
  await page.locator("#saving[data-state=failed]").waitFor();
  status = 403;
  await page.locator("#saving[data-state=refused]").waitFor();
  await page.unroute("**/design");
  await choose(page, "corners", "Square");
  await becomes(async () => (await designOf(flow)).corners, "square");
});

test("without a script the form is saved with a button", async () => {
  const flow = await world.flow(SHORT);
  const page = await desk.open(`/console/flows/${flow.flowId}/design`, { script: false });
  await page.locator("#font").selectOption("mono");
  await choose(page, "nextText", "Custom text");
  await page.locator("#nextText-own").fill("Onward");
  await page.getByRole("button", { name: "Save design" }).click();
  await page.getByText("Saved.", { exact: true }).waitFor();
  const { font, nextText, accentColor } = await designOf(flow);
  assert.deepEqual([font, nextText, accentColor], ["mono", "Onward", null]);
});

test("choices are reached and changed with the keyboard", async () => {
  const flow = await world.flow(SHORT);
  const page = await desk.open(`/console/flows/${flow.flowId}/design`);
  await page.locator("#corners").focus();
  await page.keyboard.press("ArrowRight");
  await becomes(async () => (await designOf(flow)).corners, "square");
  await page.keyboard.press("ArrowRight");
  await becomes(async () => (await designOf(flow)).corners, "soft");
});

test("the pages are accessible and fit", async () => {
  const flow = await world.flow(SHORT);
  const design = { accentColor: "#ffcc00", background: "#fdf6e3", logo: logo(), corners: "round", font: "serif", sendText: "Go" };
  await world.server.admin("PATCH", `/flows/${flow.flowId}`, { design });
  const ofFlow = await desk.open(`/console/flows/${flow.flowId}/design`);
  await checkPage(ofFlow, "design of a flow");
  const ofApp = await desk.open(`/console/apps/${flow.appId}/settings/design`);
  await checkPage(ofApp, "design of an app");
  await checkPage(await world.visit(flow.path), "designed page");
});
