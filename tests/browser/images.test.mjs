// Images of questions and options: added in the editor by choosing, dropping and pasting, then answered with and without
// JavaScript.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { answerAll } from "./support/answering.mjs";
import { atDesk, checkAccess, checkPage, keepPicture } from "./support/console.mjs";
import { png } from "./support/png.mjs";
import { becomes, until } from "./support/until.mjs";
import { openWorld, WAYS } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());
const desk = await atDesk(world);

const RED = png(320, 200, [220, 60, 60]);
const GREEN = png(320, 200, [60, 160, 90]);
const WIDE = png(1600, 400, [70, 90, 200]);
const file = (name, buffer, mimeType = "image/png") => ({ name, mimeType, buffer });

const SURVEY = {
  title: "Pictures",
  questions: [
    { id: "which", type: "singleChoice", prompt: "Which colour do you like?", allowOther: true, options: [{ id: "red", label: "Red" }, { id: "green", label: "Green" }] },
    { id: "why", type: "shortText", prompt: "Why?" },
  ],
};

const draftOf = async (flowId) => (await world.server.admin("GET", `/flows/${flowId}/draft`)).definition;

async function edit() {
  const { appId } = await world.server.createApp("Shop");
  const { flowId } = await world.server.createFlow(appId, "Pictures", SURVEY, { publish: false });
  const page = await desk.open(`/console/flows/${flowId}/edit`);
  await page.locator(".editor[data-ready]").waitFor();
  if (!(await page.locator(".item .body").count())) await page.locator(".item .open").first().click();
  return { page, appId, flowId };
}

/** Drops or pastes a file into an element, as a browser does. */
const give = (place, event, { name, mimeType, buffer }) => place.evaluate((element, [type, title, kind, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))], title, { type: kind }));
  const init = { bubbles: true, cancelable: true };
  element.dispatchEvent(type === "paste" ? new ClipboardEvent(type, { ...init, clipboardData: data }) : new DragEvent(type, { ...init, dataTransfer: data }));
}, [event, name, mimeType, buffer.toString("base64")]);

const imageAt = async (flowId, pick) => pick(await draftOf(flowId))?.image;

test("images are chosen, dropped and pasted in the editor, replaced, undone and removed", async () => {
  const { page, flowId, appId } = await edit();
  const question = page.locator(".form > .image-part");
  const option = (at) => page.locator(".choicelist li").nth(at);
  const ofQuestion = () => imageAt(flowId, ({ questions }) => questions[0]);
  const ofOption = (at) => imageAt(flowId, ({ questions }) => questions[0].options[at]);

  // Chosen, with an alternative text.
  await question.locator("input[type=file]").setInputFiles(file("wide.png", WIDE));
  await page.locator('[data-pointer="/questions/0/image/alt"]').fill("Blue stripes");
  await until(async () => assert.equal((await ofQuestion())?.alt, "Blue stripes"));
  const first = (await ofQuestion()).assetId;
  await becomes(() => question.locator("img").evaluate((image) => image.naturalWidth), 1600);

  // Dropped on an option, pasted into the label of another.
  await give(option(0), "drop", file("red.png", RED));
  await option(0).locator("img").waitFor();
  await give(option(1).locator("input.input").first(), "paste", file("green.png", GREEN));
  await option(1).locator("img").waitFor();
  await until(async () => assert.ok((await ofOption(0))?.assetId && (await ofOption(1))?.assetId));
  assert.notEqual((await ofOption(0)).assetId, (await ofOption(1)).assetId);

  // Replaced by a file that is too large: it is scaled down, and the text stays.
  await question.locator("input[type=file]").setInputFiles(file("large.png", png(1200, 1200)));
  await until(async () => assert.ok(![undefined, first].includes((await ofQuestion())?.assetId)));
  assert.equal((await ofQuestion()).alt, "Blue stripes");

  // Undo restores the first one, and removing it is undone, too.
  await page.locator("[data-undo]").click();
  await until(async () => assert.equal((await ofQuestion())?.assetId, first));
  await page.getByRole("button", { name: "Remove the image of question 1" }).click();
  await until(async () => assert.equal(await ofQuestion(), undefined));
  await page.keyboard.press("Control+z");
  await until(async () => assert.deepEqual(await ofQuestion(), { assetId: first, alt: "Blue stripes" }));

  // Something else is refused in words, and nothing changes.
  await question.locator("input[type=file]").setInputFiles(file("notes.png", Buffer.from("no image")));
  await page.getByRole("alert").filter({ hasText: "notes.png is not an image" }).waitFor();
  assert.equal((await ofQuestion()).assetId, first);
  const { items } = await world.server.admin("GET", `/apps/${appId}/assets`);
  assert.equal(items.length, 4);
  await page.context().close();
});

test("the editor with images is accessible and fits at every width and in both themes", async () => {
  const { page } = await edit();
  await page.locator(".form > .image-part input[type=file]").setInputFiles(file("wide.png", WIDE));
  await page.locator(".form > .image-part img").waitFor();
  await page.locator(".choicelist li").nth(0).locator("input[type=file]").setInputFiles(file("red.png", RED));
  await page.locator(".choicelist li").nth(0).locator("img").waitFor();
  await checkPage(page, "editor with images");
  await page.context().close();
});

/** Uploads a file to an app; returns its id. */
async function upload(appId, buffer) {
  const reply = await fetch(world.address(`/api/admin/v1/apps/${appId}/assets`), {
    method: "POST", body: buffer, headers: { "Content-Type": "image/png", Authorization: `Bearer ${world.server.token ?? "token-of-the-client-tests-0123456789"}` },
  });
  assert.equal(reply.status, 201);
  return (await reply.json()).assetId;
}

test("a flow with images is answered with and without script", async () => {
  const flow = await world.flow(SURVEY);
  const [wide, red, green] = await Promise.all([WIDE, RED, GREEN].map((each) => upload(flow.appId, each)));
  const [which, why] = SURVEY.questions;
  const options = [{ ...which.options[0], image: { assetId: red, alt: "Red stripes" } }, { ...which.options[1], image: { assetId: green } }];
  await world.publish(flow, { ...SURVEY, autoAdvance: false, questions: [{ ...which, image: { assetId: wide, alt: "Blue stripes" }, options }, why] });
  for (const way of WAYS) {
    const page = await world.visit(flow.path, { ...way, theme: way.script ? "light" : "dark" });
    const pictures = page.locator("#q-which img");
    assert.equal(await pictures.count(), 3, `${way}`);
    for (const [at, alt] of ["Blue stripes", "Red stripes", ""].entries()) {
      const picture = pictures.nth(at);
      await picture.scrollIntoViewIfNeeded();
      assert.equal(await picture.getAttribute("alt"), alt);
      await becomes(() => picture.evaluate((image) => image.complete && image.naturalWidth > 0), true);
    }
    // The place is as large before the image has arrived.
    const [width, height] = await pictures.first().evaluate((image) => [image.width, image.height]);
    assert.ok(Math.abs(width / height - 4) < 0.05, `${way}: ${width} × ${height}`);
    const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= screen, `${way}: ${content} px on a screen of ${screen} px`);
    // The options are beside one another.
    const boxes = await Promise.all([0, 1].map((at) => page.locator("#q-which .choice").nth(at).boundingBox()));
    assert.equal(Math.round(boxes[0].y), Math.round(boxes[1].y), `${way}`);
    await keepPicture(page, `hosted images ${way}`);
    if (way.script) await checkAccess(page, `${way}`);
    await answerAll(page, [["which", "green"], ["why", "It is calm"]]);
    await page.context().close();
  }
  const answers = (await world.responses(flow)).map((response) => response.answers.which);
  assert.deepEqual(answers, WAYS.map(() => "green"));
});

test("a page with images moves nothing, and only images are requested besides its own files", async () => {
  const flow = await world.flow(SURVEY);
  const wide = await upload(flow.appId, WIDE);
  await world.publish(flow, { ...SURVEY, questions: [{ ...SURVEY.questions[0], image: { assetId: wide } }] });
  const page = await world.visit("/livez");
  const paths = [];
  page.on("request", (request) => paths.push(new URL(request.url()).pathname));
  await page.route("**/a/*", async (route) => { await new Promise((done) => setTimeout(done, 300)); await route.continue() });
  await page.addInitScript(() => {
    window.shifts = 0;
    new PerformanceObserver((list) => { for (const { value } of list.getEntries()) window.shifts += value }).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(world.address(flow.path));
  await becomes(() => page.locator("#q-which img").evaluate((image) => image.complete && image.naturalWidth > 0), true);
  assert.equal(await page.evaluate(() => window.shifts), 0);
  const own = paths.filter((path) => !path.startsWith("/a/") && !path.endsWith("/visit"));
  assert.ok(own.length <= 3, own.join(", "));
  assert.deepEqual(paths.filter((path) => path.startsWith("/a/")), [`/a/${wide}`]);
  await page.context().close();
});
