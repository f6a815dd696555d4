// The results of real submissions: the test counts the expected numbers itself, downloads charts and prints the report.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { atDesk, checkPage, settled } from "./support/console.mjs";
import { becomes, matches, until } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const HOSTILE = "<img src=x onerror=alert(1)>";
const FEEDBACK = {
  title: "Product feedback",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely are you to recommend us?" },
    { id: "use", type: "multipleChoice", prompt: "What do you use?", allowOther: true,
      options: [{ id: "api", label: "The API" }, { id: "web", label: HOSTILE }] },
    { id: "docs", type: "rating", prompt: "How good is our documentation?" },
    { id: "order", type: "ranking", prompt: "What matters most?",
      options: [{ id: "price", label: "Price" }, { id: "speed", label: "Speed" }, { id: "care", label: "Support" }] },
    { id: "grid", type: "matrix", prompt: "How far do you agree?",
      rows: [{ id: "easy", label: "It is easy" }, { id: "fair", label: "The price is fair" }],
      columns: [{ id: "no", label: "Disagree" }, { id: "so", label: "Neither" }, { id: "yes", label: "Agree" }] },
    { id: "team", type: "number", prompt: "How many are you?" },
    { id: "since", type: "date", prompt: "Since when?" },
    { id: "again", type: "yesNo", prompt: "Once more?" },
    { id: "plan", type: "singleChoice", prompt: "ما هي خطتك؟", options: [{ id: "a", label: "مجاني" }, { id: "b", label: "احترافي" }] },
    { id: "why", type: "longText", prompt: "What would make it better?" },
  ],
};
const ORDERS = [["speed", "care", "price"], ["speed", "price", "care"], ["price", "speed", "care"]];
const WHY = ["The export is slow", "A faster export would help", HOSTILE, "Nothing, thank you"];
const COUNT = 40;

/** The answers of one respondent; every third skips the question about the documentation. */
function answersOf(at) {
  return {
    nps: String([10, 9, 8, 3, 10, 7, 9, 0][at % 8]),
    use: [["api"], ["api", "web"], ["other:Paper"], ["web"]][at % 4],
    ...(at % 3 ? { docs: String((at % 5) + 1) } : {}),
    order: ORDERS[at % 3],
    grid: [`easy:${["yes", "yes", "so"][at % 3]}`, `fair:${["no", "so"][at % 2]}`],
    team: String((at % 10) * 10),
    since: `2026-0${(at % 3) + 1}-15`,
    again: at % 4 ? "yes" : "no",
    plan: at % 2 ? "a" : "b",
    why: WHY[at % 4],
  };
}

let world, desk, flow, answered;
before(async () => {
  world = await openWorld();
  desk = await atDesk(world);
  flow = await world.flow(FEEDBACK, { name: "Product feedback" });
  answered = Array.from({ length: COUNT }, (_, at) => answersOf(at));
  for (const [at, answers] of answered.entries()) await submit(flow, answers, at % 4 ? "free" : "pro");
});
after(() => world?.close());

async function submit({ base, flowVersionId }, answers, plan) {
  const reply = await fetch(`${base}/trpc/response.submit`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers,
      metadata: { tags: { plan } },
    }),
  });
  const { result } = await reply.json();
  assert.ok(result.data.success, JSON.stringify(result));
}

const results = (query = "") => `/console/flows/${flow.flowId}/results${query}`;
const card = (page, title) => page.locator("section.result", { has: page.locator("h2", { hasText: title }) });

/** The data table of a chart, as {first cell: other cells}. */
const tableOf = (place) => place.locator("details.chart-table table").first().evaluate((table) =>
  Object.fromEntries([...table.tBodies[0].rows].map((row) => [row.cells[0].textContent, [...row.cells].slice(1).map((cell) => cell.textContent)])));

const share = (part, of) => `${Math.round((100 * part) / of)}%`;

test("every number on the page equals the expected count", async () => {
  const page = await desk.open(results());
  await becomes(() => page.locator(".stat dd.big").first().textContent(), String(COUNT));

  const scores = answered.map(({ nps }) => Number(nps));
  const promoters = scores.filter((score) => score >= 9).length;
  const detractors = scores.filter((score) => score <= 6).length;
  const nps = card(page, "recommend us");
  const score = Math.round((100 * (promoters - detractors)) / COUNT);
  await becomes(() => nps.locator("svg text[font-size='44']").textContent(), `+${score}`);
  const split = await tableOf(nps);
  assert.deepEqual(split["Promoters (9 and 10)"], [String(promoters), share(promoters, COUNT)]);
  assert.deepEqual(split["Detractors (0 to 6)"], [String(detractors), share(detractors, COUNT)]);
  for (let point = 0; point <= 10; point++) {
    const count = scores.filter((it) => it === point).length;
    assert.deepEqual(split[String(point)], [String(count), share(count, COUNT)], `NPS ${point}`);
  }

  const uses = await tableOf(card(page, "What do you use?"));
  for (const [label, id] of [["The API", "api"], [HOSTILE, "web"]]) {
    const count = answered.filter(({ use }) => use.includes(id)).length;
    assert.deepEqual(uses[label], [String(count), share(count, COUNT)], label);
  }

  const ratings = answered.flatMap(({ docs }) => (docs ? [Number(docs)] : []));
  const docs = card(page, "documentation");
  const mean = (ratings.reduce((sum, it) => sum + it, 0) / ratings.length).toFixed(2).replace(/\.?0+$/, "");
  await becomes(() => docs.locator(".headline .big").textContent(), mean);
  await matches(() => docs.locator(".result-title .hint").textContent(), new RegExp(`answered in ${ratings.length} of ${COUNT} responses`));

  const places = await tableOf(card(page, "What matters most?"));
  const placeOf = (id) => answered.map(({ order }) => order.indexOf(id) + 1);
  const speed = placeOf("speed");
  const meanPlace = (speed.reduce((sum, it) => sum + it, 0) / COUNT).toFixed(2).replace(/\.?0+$/, "");
  assert.deepEqual(places.Speed, [meanPlace, ...[1, 2, 3].map((place) => String(speed.filter((it) => it === place).length))]);

  const grid = await tableOf(card(page, "How far do you agree?"));
  const easy = ["no", "so", "yes"].map((column) => answered.filter((it) => it.grid.includes(`easy:${column}`)).length);
  assert.deepEqual(grid["It is easy"], [...easy.map((count) => `${count} (${share(count, COUNT)})`), String(COUNT)]);

  const again = await tableOf(card(page, "Once more?"));
  const yes = answered.filter((it) => it.again === "yes").length;
  assert.deepEqual(again.Yes, [String(yes), share(yes, COUNT)]);

  const months = await tableOf(card(page, "Since when?"));
  const january = answered.filter((it) => it.since.startsWith("2026-01")).length;
  assert.equal(months["Jan 2026"][0], String(january));

  const numbers = card(page, "How many are you?");
  const teamMean = answered.reduce((sum, it) => sum + Number(it.team), 0) / COUNT;
  await becomes(() => numbers.locator(".headline .big").textContent(), String(teamMean));

  const words = card(page, "What would make it better?");
  const exports = answered.filter(({ why }) => why.includes("export")).length;
  await becomes(async () => (await words.locator(".word", { hasText: "export" }).first().textContent()).trim(), `export ${exports} answers`);
  await becomes(() => words.locator("blockquote").count(), 5);
});

test("filters apply immediately, are in the address and narrow the counts", async () => {
  const page = await desk.open(results());
  await page.locator("#tag").selectOption({ label: "plan: pro (10)" });
  await page.waitForURL(/tag=plan%3Dpro/);
  await becomes(() => page.locator(".stat dd.big").first().textContent(), "10");
  await page.locator(".chip.on", { hasText: "plan: pro" }).click();
  await page.waitForURL((url) => !url.search.includes("plan"));
  await becomes(() => page.locator(".stat dd.big").first().textContent(), String(COUNT));
  await page.locator("#compare").selectOption("tag.plan");
  await page.waitForURL(/compare=tag.plan/);
  const nps = card(page, "recommend us");
  await becomes(() => nps.locator(".multiple-name").allTextContents(), ["free", "pro"]);
  const of = (scores) => {
    const score = Math.round(100 * scores.reduce((sum, it) => sum + (it >= 9 ? 1 : it <= 6 ? -1 : 0), 0) / scores.length);
    return `${score > 0 ? "+" : score < 0 ? "−" : ""}${Math.abs(score)} from ${scores.length} answers`;
  };
  const scores = (plan) => answered.flatMap(({ nps }, at) => ((at % 4 ? "free" : "pro") === plan ? [Number(nps)] : []));
  await becomes(() => nps.locator(".multiple-base").allTextContents(), [of(scores("free")), of(scores("pro"))]);
});

test("without JavaScript a button applies the same form", async () => {
  const page = await desk.open(results(), { script: false });
  await page.locator("#tag").selectOption({ label: "plan: pro (10)" });
  await page.locator("form:has(#tag) button[type=submit]").first().click();
  await becomes(() => page.locator(".stat dd.big").first().textContent(), "10");
  await becomes(() => page.locator("[data-png]:visible").count(), 0);
});

test("a chart is downloaded as SVG and as PNG", async () => {
  const page = await desk.open(results(), { acceptDownloads: true });
  const uses = card(page, "What do you use?");
  const [svg] = await Promise.all([page.waitForEvent("download"), uses.locator(".chart-tools a").first().click()]);
  assert.equal(svg.suggestedFilename(), "question-use.svg");
  const drawing = await readFile(await svg.path(), "utf8");
  const [png] = await Promise.all([page.waitForEvent("download"), uses.locator("[data-png]").first().click()]);
  assert.equal(png.suggestedFilename(), "question-use.png");
  const picture = await readFile(await png.path());

  // Both are opened in an empty page: the SVG is self-contained, on white, and the PNG has double resolution.
  const plain = await desk.open("/healthz");
  const read = await plain.evaluate(async ({ drawing, picture }) => {
    const parsed = new DOMParser().parseFromString(drawing, "image/svg+xml");
    if (parsed.querySelector("parsererror")) throw new Error(parsed.documentElement.textContent);
    const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    const colours = new Set();
    for (let at = 0; at < data.length; at += 4) colours.add(`${data[at]},${data[at + 1]},${data[at + 2]},${data[at + 3]}`);
    const { width, height } = parsed.documentElement.attributes;
    return {
      title: parsed.querySelector("title").textContent, elements: parsed.querySelectorAll("script, style, [style], foreignObject, image").length,
      drawn: [Number(width.value), Number(height.value)], picture: [image.width, image.height],
      corner: [...data.slice(0, 4)], hasBars: colours.has("15,107,115,255"),
    };
  }, { drawing, picture: picture.toString("base64") });
  assert.equal(read.title, "What do you use?");
  assert.equal(read.elements, 0);
  assert.deepEqual(read.picture, read.drawn.map((length) => 2 * length));
  assert.deepEqual(read.corner, [255, 255, 255, 255]);
  assert.ok(read.hasBars, "the image must contain the bars in the light colour");
});

test("the page is printed as a report with every table", async () => {
  const page = await desk.open(results("?tag.plan=pro"), { theme: "dark" });
  await settled(page);
  await page.evaluate(() => (window.print = () => (window.printed = true)));
  await page.locator("[data-print]").click();
  await until(async () => assert.ok(await page.evaluate(() => window.printed)));
  await page.emulateMedia({ media: "print" });
  await until(async () => assert.ok(await page.locator(".report-head").isVisible()));
  await matches(() => page.locator(".report-head").textContent(), /Product feedback · All time · plan: pro · 10 responses · created /);
  for (const hidden of [".side", ".tabs", ".filters", ".chart-tools"]) {
    await until(async () => assert.ok(await page.locator(hidden).first().isHidden(), hidden));
  }
  // The second table of a score repeats the first, and is omitted.
  const tables = page.locator(".result details.chart-table:not(.result-side *)");
  const count = await tables.count();
  assert.equal(count, FEEDBACK.questions.length, "one for the responses over time and one per question except the text");
  for (const table of await tables.locator("table").all()) assert.ok(await table.isVisible(), await table.textContent());
  await page.emulateMedia({ media: null });
  const open = () => tables.evaluateAll((all) => all.filter((details) => details.open).length);
  await becomes(open, 0, "before it is printed");
  await tables.evaluateAll((all) => addEventListener("beforeprint", () => (window.openOnPaper = all.filter((details) => details.open).length)));
  const pdf = await page.pdf({ format: "A4" });
  await becomes(() => page.evaluate(() => window.openOnPaper), count);
  await becomes(open, 0, "after it was printed");
  assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
  const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g).length;
  assert.ok(pages >= FEEDBACK.questions.length / 2 && pages <= FEEDBACK.questions.length + 4, `${pages} pages`);
  if (process.env.KEEP_PDF) await writeFile(process.env.KEEP_PDF, pdf);
});

test("no user input runs as a script", async () => {
  for (const query of ["", "?compare=tag.plan", "?compare=period", "?tag.plan=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"]) {
    const page = await desk.open(results(query));
    page.on("dialog", () => assert.fail("a script ran"));
    await becomes(() => page.locator("img").count(), 0);
    await page.context().close();
  }
});

test("axe reports no violations, and everything fits", async () => {
  for (const query of ["", "?compare=tag.plan&period=7d", "?from=2020-01-01&to=2020-01-02"]) {
    const page = await desk.open(results(query));
    await settled(page);
    for (const summary of await page.locator("details.chart-table > summary").all()) await summary.click();
    await checkPage(page, `results${query}`);
    await page.context().close();
  }
  const empty = await world.flow(FEEDBACK, { name: "Empty" });
  const page = await desk.open(`/console/flows/${empty.flowId}/results`);
  await until(async () => assert.ok(await page.locator("text=No responses yet").isVisible()));
  await checkPage(page, "without responses");
});
