// The whole story of an author: signs in, starts from a template, adds a jump, a repeated answer, a score and an image, undoes a
// change, publishes, gets answers from phones with and without JavaScript, closes, reopens and discards.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { answerAll } from "./support/answering.mjs";
import { ADMIN_TOKEN, checkAccess } from "./support/console.mjs";
import { becomes, until } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());

// One red pixel.
const PICTURE = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==", "base64");

const at = (page, pointer) => page.locator(`[data-pointer="${pointer}"]`);
const saved = (page) => page.locator("#saving[data-state=saved]").waitFor();
const menu = async (page, name) => {
  await page.locator(".flow-top summary").click();
  await page.locator(".flow-top .list").getByText(name).click();
};

test("from a template to answers on a phone, closed, reopened and discarded", async () => {
  await world.server.createApp("Shop");
  const page = await world.visit("/console");
  await page.locator("[name=token]").fill(ADMIN_TOKEN);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(/\/console\/apps\//);
  await page.getByRole("link", { name: "New flow" }).first().click();
  await page.getByRole("button", { name: "Use template: Product-market fit" }).click();
  await page.locator(".editor[data-ready]").waitFor();
  const flow = /flows\/(fl_\w+)/.exec(page.url())[1];
  const draft = async () => (await world.server.admin("GET", `/flows/${flow}/draft`)).definition;

  // A jump over two questions, scores, and an image.
  const first = page.locator(".item").first();
  if (!(await first.locator(".body").count())) await first.locator(".open").click();
  const jumps = first.locator(".jumps");
  await jumps.getByRole("button", { name: "+ Jump" }).click();
  await jumps.getByLabel("Jump 1: where to").selectOption("improve");
  await jumps.getByLabel("When").selectOption("if");
  await jumps.getByLabel("Value").selectOption("somewhat");
  await first.getByRole("button", { name: "Show scores" }).click();
  await page.getByLabel("Score of option 2").fill("5");
  await first.locator(".form > .image-part input[type=file]").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: PICTURE });
  await at(page, "/questions/0/image/alt").fill("A red dot");
  await becomes(async () => {
    const [{ next, options, image }] = (await draft()).questions;
    return [next, options[1].score, image?.alt];
  }, [[{ to: "improve", when: { question: "disappointment", equals: "somewhat" } }], 5, "A red dot"]);

  // The ending repeats the answer and the score.
  await page.locator("[data-shows-section=texts]").click();
  await at(page, "/ending/title").fill("{{answer:disappointment|No answer}}, {{score}} points");
  await at(page, "/ending/title").press("Tab");
  await becomes(async () => (await draft()).ending.title, "{{answer:disappointment|No answer}}, {{score}} points");

  // A change of mind.
  await page.locator("#title-field").fill("A mistake");
  await becomes(async () => (await draft()).title, "A mistake");
  await page.getByRole("button", { name: "Undo last change" }).click();
  await becomes(async () => (await draft()).title, "Help us build the right thing");
  await saved(page);
  await checkAccess(page, "editor");

  await page.getByRole("link", { name: "Publish", exact: true }).click();
  await page.locator("dialog.ask[open]").getByRole("button", { name: "Publish version 1" }).click();
  await page.getByText("Version 1 is live.").waitFor();

  for (const script of [true, false]) {
    const phone = await world.visit(`/f/${flow}`, { script, size: "phone" });
    await phone.locator('img[alt="A red dot"]').waitFor();
    await answerAll(phone, [["disappointment", "somewhat"], ["improve", "More of it"]], { send: false });
    // A form that is sent within the first seconds must be sent again.
    await until(async () => {
      if (await phone.locator(".actions [value=send]").count()) await phone.locator(".actions [value=send]").click({ timeout: 5000 });
      await phone.locator("main[data-state=stored]").waitFor({ timeout: 5000 });
    });
    await becomes(() => phone.locator("main h1").innerText(), "Somewhat disappointed, 5 points");
    await phone.context().close();
  }
  const { items } = await world.server.admin("GET", `/flows/${flow}/responses`);
  assert.deepEqual(items.map(({ answers, score }) => [answers, Number(score)]), [1, 2].map(() => [{ disappointment: "somewhat", improve: "More of it" }, 5]));

  const reply = async () => {
    const visitor = await world.visit(`/f/${flow}`, { size: "phone" });
    const state = await visitor.locator("main").getAttribute("data-state");
    await visitor.context().close();
    return state;
  };
  const open = await reply();
  await menu(page, "Close now");
  await page.getByText("Closed.").waitFor();
  await becomes(reply, "closed");
  await menu(page, "Reopen");
  await page.getByText("Reopened.").waitFor();
  await becomes(reply, open);

  await page.goto(world.address(`/console/flows/${flow}/edit`));
  await page.locator(".editor[data-ready]").waitFor();
  await page.locator("#title-field").fill("Another idea");
  await becomes(() => page.locator("#unpublished").textContent(), "1 unpublished change");
  await saved(page);
  await page.getByRole("link", { name: "Discard" }).click();
  await becomes(() => page.locator("#unpublished").textContent(), "No unpublished changes");
  await becomes(() => page.locator("#title-field").inputValue(), "Help us build the right thing");
});
