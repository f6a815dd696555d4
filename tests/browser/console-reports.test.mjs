// A shared report: made from filtered results, read without an account, protected, printed, and revoked.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { inflateSync } from "node:zlib";

import { agree, atDesk, checkAccess, checkPage, keepPicture, settled } from "./support/console.mjs";
import { becomes, matches, until } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const PASSWORD = "blue lamp under the stairs";
const FEEDBACK = {
  title: "Product feedback",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely are you to recommend us?" },
    { id: "use", type: "multipleChoice", prompt: "What do you use?",
      options: [{ id: "api", label: "The API" }, { id: "web", label: "The console" }] },
    { id: "docs", type: "rating", prompt: "How good is our documentation?" },
    { id: "order", type: "ranking", prompt: "What matters most?",
      options: [{ id: "price", label: "Price" }, { id: "speed", label: "Speed" }, { id: "care", label: "Support" }] },
    { id: "salary", type: "singleChoice", prompt: "A question that is kept back", options: [{ id: "a", label: "Kept back" }] },
    { id: "why", type: "longText", prompt: "What would make it better?" },
  ],
};
const SHOWN = FEEDBACK.questions.filter(({ id }) => id !== "salary");
const WHY = ["The export is slow", "A faster export would help", "Nothing, thank you"];

let world, desk, flow;
before(async () => {
  world = await openWorld();
  desk = await atDesk(world);
  flow = await world.flow(FEEDBACK, { name: "Product feedback" });
  for (let at = 0; at < 24; at += 1) {
    await submit({
      nps: String([10, 9, 8, 3][at % 4]), use: [["api"], ["api", "web"]][at % 2], docs: String((at % 5) + 1),
      order: [["speed", "care", "price"], ["price", "speed", "care"]][at % 2], salary: "a", why: WHY[at % 3],
    }, at % 3 ? "free" : "pro");
  }
});
after(() => world?.close());

async function submit(answers, plan) {
  const reply = await fetch(`${flow.base}/trpc/response.submit`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only",
      answers, metadata: { tags: { plan } },
    }),
  });
  assert.ok((await reply.json()).result.data.success);
}

const results = (query = "") => `/console/flows/${flow.flowId}/results${query}`;

/** A report of all questions except one, made through the API; returns its path. */
async function share(more = {}) {
  const body = { title: "Product feedback for the board", questions: SHOWN.map(({ id }) => id), ...more };
  const made = await world.server.admin("POST", `/flows/${flow.flowId}/reports`, body);
  return { ...made, path: new URL(made.link).pathname };
}

/** Every card as its heading and all numbers of its tables. */
const cards = (page) => page.locator("section.result").evaluateAll((all) => all.map((card) => [
  card.querySelector("h2").textContent,
  [...card.querySelectorAll("details.chart-table td")].map((cell) => cell.textContent),
]));


for (const script of [true, false]) {
  test(`filtered results are shared, read without an account, and revoked, ${script ? "with" : "without"} script`, async () => {
    const page = await desk.open(results("?tag.plan=pro"), { script });
    await settled(page);
    const expected = (await cards(page)).filter(([heading]) => heading !== "A question that is kept back");
    await page.getByRole("link", { name: "Share this report" }).click();
    await matches(() => page.locator("form.form").first().textContent(), /plan: pro/);
    await page.getByLabel("Title").fill("For the board");
    await page.getByLabel("A question that is kept back").uncheck();
    await page.getByLabel(/^Show text answers/).check();
    await page.getByLabel("Password (optional)").fill(PASSWORD);
    await keepPicture(page, `share-${script}`);
    await page.getByRole("button", { name: "Create link" }).click();
    const link = await page.locator("#link").textContent();
    await keepPicture(page, `shared-${script}`);

    const reader = await world.visit(new URL(link).pathname, { script });
    await becomes(() => reader.locator("h1").textContent(), "Password required");
    await reader.getByLabel("Password").fill("another lamp on the stairs");
    await reader.getByRole("button", { name: "Open report" }).click();
    await matches(() => reader.locator(".errors").textContent(), /This password is wrong/);
    await reader.getByLabel("Password").fill(PASSWORD);
    await reader.getByRole("button", { name: "Open report" }).click();
    await becomes(() => reader.locator("h1").textContent(), "For the board");
    await matches(() => reader.locator(".shared-head").textContent(), /plan: pro · 8 responses · as of/);
    await becomes(() => cards(reader), expected);
    assert.doesNotMatch(await reader.locator("body").textContent(), /kept back/i);
    assert.equal(await reader.locator("a").count(), 0, "no link leads anywhere");
    await reader.reload();
    await becomes(() => reader.locator("h1").textContent(), "For the board");
    const other = await world.visit(new URL(link).pathname, { script });
    await becomes(() => other.locator("h1").textContent(), "Password required");

    await page.goto(world.address(results("/reports")));
    await page.getByRole("button", { name: "Revoke For the board" }).first().click();
    if (script) await agree(page);
    await matches(() => page.locator(".flash").textContent(), /Revoked/);
    const reply = await reader.reload();
    assert.equal(reply.status(), 404);
    await becomes(() => reader.locator("h1").textContent(), "This report is not available");
    for (const context of [page, reader, other].map((it) => it.context())) await context.close();
  });
}

test("a report fits every screen and is accessible", async () => {
  const { path } = await share({ showTexts: true });
  const locked = await share({ password: PASSWORD });
  const check = async (page, name) => {
    await checkPage(page, `report ${name}`);
    await page.context().close();
  };
  for (const [name, address] of [["read", path], ["password", locked.path], ["gone", "/r/0000000000000000000000"]]) await check(await world.visit(address), name);
  for (const [name, address] of [["form", "/reports?period=30d"], ["edit", `/reports/${locked.reportId}`]]) await check(await desk.open(results(address)), name);
});

for (const script of [true, false]) {
  test(`a report is edited and keeps its link, ${script ? "with" : "without"} script`, async () => {
    const title = `Report ${script}`;
    const { path } = await share({ title, password: PASSWORD });
    const page = await desk.open(results("/reports"), { script });
    await page.getByRole("link", { name: `Edit ${title}` }).click();
    await becomes(() => page.getByLabel("Title").inputValue(), title);
    assert.ok(!(await page.getByLabel("A question that is kept back").isChecked()));
    await page.getByLabel("Title").fill("");
    await page.getByLabel("Title").evaluate((field) => field.removeAttribute("required"));
    await page.getByRole("button", { name: "Save changes" }).click();
    await matches(() => page.locator(".errors").textContent(), /Title/);
    await page.getByLabel("Title").fill(`${title}, changed`);
    await page.getByLabel("How good is our documentation?").uncheck();
    await page.getByLabel(/^Remove the password/).check();
    await page.getByRole("button", { name: "Save changes" }).click();
    await matches(() => page.locator(".flash").textContent(), /Saved/);
    const reader = await world.visit(path, { script });
    await becomes(() => reader.locator("h1").textContent(), `${title}, changed`);
    assert.doesNotMatch(await reader.locator("body").textContent(), /How good is our documentation/);
    for (const context of [page, reader].map((it) => it.context())) await context.close();
  });
}

test("a compared report has the charts of the console", async () => {
  const { path } = await share({ filters: "compare=tag.plan" });
  const page = await desk.open(results("?compare=tag.plan"));
  await settled(page);
  const expected = (await cards(page)).filter(([heading]) => heading !== "A question that is kept back");
  const reader = await world.visit(path);
  await becomes(() => cards(reader), expected);
  await checkAccess(reader, "compared");
  await keepPicture(reader, "compared");
});

test("results that are computed show their progress and then the report", async () => {
  const { path } = await share({ filters: "answer.nps[lt]=9" });
  const reader = await world.visit(path);
  await until(async () => assert.match(await reader.locator(".shared-head").textContent(), /12 responses/));
});

test("a report is printed black on white, with its title and its date, a question on each page", async () => {
  const { path } = await share({ showTexts: true });
  const page = await world.visit(path, { theme: "dark" });
  await settled(page);
  await page.evaluate(() => (window.print = () => (window.printed = true)));
  await page.getByRole("button", { name: "Print or save as PDF" }).click();
  await until(async () => assert.ok(await page.evaluate(() => window.printed)));
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await until(async () => assert.ok(await page.getByRole("button", { name: "Print or save as PDF" }).isHidden()));
  const colours = await page.evaluate(() => ["body", "h1", ".c-text"].map((it) => {
    const style = getComputedStyle(document.querySelector(it));
    return it === "body" ? style.backgroundColor : it === ".c-text" ? style.fill : style.color;
  }));
  assert.deepEqual(colours, ["rgb(255, 255, 255)", "rgb(27, 31, 35)", "rgb(27, 31, 35)"]);
  await keepPicture(page, "print");
  const pdf = await page.pdf({ format: "A4" });
  const file = pdf.toString("latin1");
  assert.ok(file.startsWith("%PDF-"));
  const pages = file.match(/\/Type\s*\/Page\b/g).length;
  assert.ok(pages >= SHOWN.length && pages <= 2 * SHOWN.length + 1, `${pages} pages`);
  assert.match(file, /\/Title \(Product feedback for the board\)/);
  const text = textOf(pdf);
  for (const part of ["Product feedback for the board", "24 responses", ...SHOWN.map(({ prompt }) => prompt), WHY[0]]) {
    assert.ok(text.includes(part.replaceAll(" ", "")), `${part} is in the document`);
  }
  assert.ok(!text.includes("keptback"), "a question that was not chosen");
  if (process.env.KEEP_PDF) await writeFile(process.env.KEEP_PDF, pdf);
});

/** The texts of a PDF without spaces. Each font has a map from its glyphs to characters; all are tried for each text. */
function textOf(pdf) {
  const streams = [];
  for (let at = pdf.indexOf("stream\n"); at >= 0; at = pdf.indexOf("stream\n", at + 7)) {
    if (pdf.subarray(at - 3, at).toString() === "end") continue;
    try {
      streams.push(inflateSync(pdf.subarray(at + 7), { finishFlush: 2 }).toString("latin1"));
    } catch {
      // An image.
    }
  }
  const fonts = streams.filter((stream) => /beginbf(char|range)/.test(stream)).map(glyphsOf);
  const texts = streams.filter((stream) => /\bT[jJ]\b/.test(stream)).map((stream) => [...stream.matchAll(/<([0-9A-Fa-f]+)>/g)].map(([, hex]) => hex));
  return fonts.flatMap((glyphs) => texts.map((hexes) =>
    hexes.map((hex) => hex.match(/.{4}/g)?.map((glyph) => glyphs.get(parseInt(glyph, 16)) ?? "").join("") ?? "").join(""))).join("\n").replaceAll(/\s/g, "");
}

function glyphsOf(map) {
  const glyphs = new Map();
  const read = (hex) => String.fromCharCode(...hex.match(/.{4}/g).map((unit) => parseInt(unit, 16)));
  for (const [, lines] of map.matchAll(/beginbfchar([^]*?)endbfchar/g)) {
    for (const [, glyph, character] of lines.matchAll(/<(\w+)>\s*<(\w+)>/g)) glyphs.set(parseInt(glyph, 16), read(character));
  }
  for (const [, lines] of map.matchAll(/beginbfrange([^]*?)endbfrange/g)) {
    for (const [, first, last, character] of lines.matchAll(/<(\w+)>\s*<(\w+)>\s*<(\w+)>/g)) {
      for (let glyph = parseInt(first, 16); glyph <= parseInt(last, 16); glyph += 1) {
        glyphs.set(glyph, String.fromCharCode(parseInt(character, 16) + glyph - parseInt(first, 16)));
      }
    }
  }
  return glyphs;
}

test("a keyboard opens a protected report and its tables", async () => {
  const { path } = await share({ password: PASSWORD });
  const page = await world.visit(path);
  await page.keyboard.press("Tab");
  await becomes(() => page.evaluate(() => document.activeElement.id), "password");
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press("Enter");
  await becomes(() => page.locator("h1").textContent(), "Product feedback for the board");
  await page.locator("details.chart-table summary").first().focus();
  await page.keyboard.press("Enter");
  await until(async () => assert.ok(await page.locator("details.chart-table table").first().isVisible()));
});
