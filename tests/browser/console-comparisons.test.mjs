// Comparisons of every question type by two to eight parts: one scale, the same bins, and no text over another.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { after, before, test } from "node:test";

import { APPEARANCES, atDesk, checkAccess, checkFits, settled } from "./support/console.mjs";
import { checkTexts } from "./support/layout.mjs";
import { EVERY_APPEARANCE, openWorld } from "./support/world.mjs";

const PARTS = [2, 3, 5, 8];
const WIDTHS = [390, 768, 1440];
/** Those in which the layout is checked: a theme changes colours, not places. */
const THEMES = EVERY_APPEARANCE ? ["light", "dark"] : ["light"];
assert.ok(APPEARANCES.every(({ width }) => WIDTHS.includes(width)), "a page of each appearance is opened");
const COUNT = 160;
/** Set to a folder to keep a picture of each page. */
const PICTURES = process.env.SLUICE_SCREENSHOTS;

const options = (...labels) => labels.map((label, at) => ({ id: `o${at}`, label }));
const LONG = "Donaudampfschifffahrtsgesellschaftskapitänspatent and everything that belongs to such a licence, in one very long option";
const SURVEY = {
  title: "Every type",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely are you to recommend us?" },
    { id: "stars", type: "rating", prompt: "How good is our documentation?" },
    { id: "mark", type: "rating", shape: "number", max: 10, prompt: "Your mark, of ten" },
    { id: "plan", type: "singleChoice", prompt: "Which plan do you have?", options: options("Free", "Professional", LONG, "احترافي"), allowOther: true },
    { id: "land", type: "dropdown", prompt: "Where are you?", options: options("Germany", "France", "United Kingdom of Great Britain and Northern Ireland", "日本国") },
    { id: "use", type: "multipleChoice", prompt: "What do you use?", options: options("The API", "The console", "Hosted links", "Exports"), allowOther: true },
    { id: "again", type: "yesNo", prompt: "Once more?" },
    { id: "terms", type: "consent", prompt: "I accept the house rules" },
    { id: "order", type: "ranking", prompt: "What matters most?", options: options("Price", "Speed", "Support that answers the same day", "Privacy") },
    { id: "grid", type: "matrix", prompt: "How far do you agree?",
      rows: options("It is easy to use", "It is worth its price, all things considered, compared with what else there is", "Support is quick"),
      columns: options("Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree") },
    { id: "team", type: "number", prompt: "How many are you?" },
    { id: "spend", type: "number", prompt: "What do you spend in a year?" },
    { id: "since", type: "date", prompt: "Since when?" },
    { id: "born", type: "date", prompt: "When were you born?" },
    { id: "name", type: "shortText", prompt: "Your name" },
    { id: "why", type: "longText", prompt: "What would make it better?" },
    { id: "mail", type: "email", prompt: "Your address" },
    { id: "site", type: "url", prompt: "Your website" },
    { id: "tel", type: "phone", prompt: "Your number" },
  ],
};
const ORDERS = [["o1", "o2", "o0", "o3"], ["o1", "o0", "o2", "o3"], ["o0", "o1", "o3", "o2"], ["o3", "o2", "o1", "o0"]];
const NAMES = ["free", "pro", "Team", "Enterprise edition with a long name", "الشركات", "trial", "internal", "former customers who came back"];

/** Answers that differ from part to part: the later parts have larger numbers and later dates. */
function answersOf(at) {
  const [part, nth] = [at % 8, Math.floor(at / 8)];
  const pick = (many, factor = 7) => (nth * factor + part * 3) % many;
  const month = 3 * part + (nth % 2);
  return {
    nps: String([10, 9, 8, 3, 10, 7, 9, 0, 6, 10, 10][pick(11)]),
    stars: String(pick(5) + 1),
    mark: String(Math.min(10, pick(4) + part + 1)),
    plan: ["o0", "o1", "o1", "o2", "other:Mine", "o3"][pick(6, 5)],
    land: `o${pick(part % 2 ? 2 : 4)}`,
    use: [["o0"], ["o0", "o1"], ["o2"], ["other:Paper", "o3"]][pick(4)],
    again: pick(4) ? "yes" : "no",
    terms: "accepted",
    order: ORDERS[pick(4)],
    grid: [`o0:o${pick(5)}`, `o1:o${pick(3) + 2}`, ...(part === 3 ? [] : [`o2:o${part % 5}`])],
    team: String(pick(9) + part * 2),
    spend: String(part < 2 ? pick(90) + 10.5 : 1_000 * part + 37 * nth),
    since: `${2024 + Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, "0")}-15`,
    born: `${1940 + part * 8 + nth}-05-05`,
    name: `Name ${at}`, why: ["The export is slow", "A faster export would help"][pick(2)], mail: `a${at}@example.com`, site: "https://example.com/", tel: "+49 30 123456",
  };
}

let world, desk, flow;
before(async () => {
  world = await openWorld();
  desk = await atDesk(world);
  flow = await world.flow(SURVEY, { name: "Every type" });
  for (let at = 0; at < COUNT; at += 20) await Promise.all(Array.from({ length: 20 }, (_, nth) => submit(at + nth)));
  if (PICTURES) await mkdir(PICTURES, { recursive: true });
});
after(() => world?.close());

async function submit(at) {
  const tags = Object.fromEntries(PARTS.map((parts) => [`of${parts}`, NAMES[at % parts]]));
  const reply = await fetch(`${flow.base}/trpc/response.submit`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only",
      answers: answersOf(at), metadata: { tags },
    }),
  });
  const { result } = await reply.json();
  assert.ok(result.data.success, JSON.stringify(result));
}

/** What each card with a comparison has: for each part, its axes, its marks, and the first cells of its rows in the table. */
const readCards = (page) => page.locator("section.result:has(.multiples)").evaluateAll((cards) => cards.map((card) => {
  const panels = [...card.querySelectorAll(".multiple")].map((panel) => {
    const svg = panel.querySelector("svg");
    const { height } = svg.getBoundingClientRect();
    const labels = (name) => [...svg.querySelectorAll(`.${name} text`)].map((text) => `${text.textContent} at ${text.getAttribute("x")}, ${text.getAttribute("y")}`);
    const marks = [...svg.querySelectorAll("rect:has(> title)")].map((mark) => {
      const said = /([\d,]+) answers? \(([\d,]+)\)$/.exec(mark.querySelector("title").textContent);
      const [of, count] = said ? said.slice(1).map((text) => Number(text.replaceAll(",", ""))) : [];
      return { of, count, height: mark.getBoundingClientRect().height };
    });
    return { x: labels("c-x"), y: labels("c-y"), marks, height };
  });
  const rows = new Map();
  for (const { cells } of card.querySelector("details.chart-table table").tBodies[0].rows) {
    rows.set(cells[0].textContent, [...(rows.get(cells[0].textContent) ?? []), cells[1].textContent]);
  }
  return { title: card.querySelector("h2").textContent, chance: card.querySelector(".multiples-chance")?.textContent, names: [...card.querySelectorAll(".multiple-name")].map((it) => it.textContent),
    bases: [...card.querySelectorAll(".multiple-base")].map((it) => it.textContent), panels, rows: [...rows.values()] };
}));

/** Every panel is drawn on the scale of the others. */
function checkShared({ title, names, bases, panels, rows }, parts, what) {
  assert.equal(names.length, parts, `${what}, ${title}: parts`);
  for (const base of bases) assert.match(base, /\d+ answers?$/, `${what}, ${title}: every number has its base`);
  for (const panel of panels) {
    assert.deepEqual(panel.x, panels[0].x, `${what}, ${title}: horizontal axis`);
    assert.deepEqual(panel.y, panels[0].y, `${what}, ${title}: vertical axis`);
    assert.equal(panel.height, panels[0].height, `${what}, ${title}: height`);
  }
  assert.equal(rows.length, parts, `${what}, ${title}: parts of the table`);
  for (const part of rows) assert.deepEqual(part, rows[0], `${what}, ${title}: bins`);
}

/** The same share of answers has the same height in every part. */
function checkHeights({ title, panels }, what) {
  const heights = panels.flatMap(({ marks }) => marks).filter(({ height }) => height > 4);
  const perShare = heights.map(({ of, count, height }) => height / (count / of));
  assert.ok(heights.length >= panels.length && perShare.every((it) => Math.abs(it - perShare[0]) / perShare[0] < 0.02), `${what}, ${title}: ${perShare}`);
}

/** In parts that can be viewed at full size. */
async function keepPicture(page, name) {
  if (!PICTURES) return;
  const { width, height } = await page.evaluate(() => ({ width: innerWidth, height: document.documentElement.scrollHeight }));
  const step = width < 500 ? 1600 : 1200;
  for (let y = 0; y < height; y += step) {
    const path = `${PICTURES}/${name}-${String(y / step).padStart(2, "0")}.png`;
    await page.screenshot({ path, fullPage: true, clip: { x: 0, y, width, height: Math.min(step, height - y) } });
  }
}

for (const parts of PARTS) {
  test(`${parts} parts are compared on one scale, and no text is over another`, async () => {
    for (const width of WIDTHS) {
      const page = await desk.open(`/console/flows/${flow.flowId}/results?compare=tag.of${parts}`, { width });
      const what = `${parts} parts, ${width} px`;
      await settled(page);
      const cards = await readCards(page);
      assert.deepEqual(cards.map(({ title }) => title), SURVEY.questions.slice(0, 14).map(({ prompt }) => prompt), what);
      for (const card of cards) checkShared(card, parts, what);
      // All answers to the consent are the same.
      const tested = cards.filter(({ title }) => title !== "I accept the house rules");
      for (const { title, chance } of tested) assert.match(chance ?? "", /chance/, `${what}, ${title}: whether it could be chance`);
      for (const card of cards.filter(({ title }) => /documentation|mark|How many|spend|Since when|born/.test(title))) checkHeights(card, what);
      for (const theme of THEMES) {
        await page.emulateMedia({ colorScheme: theme });
        await checkTexts(page, `${what}, ${theme}`);
        await checkFits(page, `${what}, ${theme}`);
        await keepPicture(page, `of${parts}-${width}-${theme}`);
      }
      // Slow on a long page; the parts of a comparison are all alike.
      const atThisWidth = APPEARANCES.filter((it) => it.width === width);
      for (const { theme } of parts === 2 ? atThisWidth : []) {
        await page.emulateMedia({ colorScheme: theme });
        await checkAccess(page, `${what}, ${theme}`);
      }
      await page.context().close();
    }
  });
}

test("without a comparison no text is over another either", async () => {
  for (const width of WIDTHS) {
    const page = await desk.open(`/console/flows/${flow.flowId}/results`, { width });
    await settled(page);
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme });
      await checkTexts(page, `${width} px, ${theme}`);
      await checkFits(page, `${width} px, ${theme}`);
      await keepPicture(page, `alone-${width}-${theme}`);
    }
    await page.context().close();
  }
});

test("a month without dates keeps its place on the axis", async () => {
  const page = await desk.open(`/console/flows/${flow.flowId}/results`);
  await settled(page);
  const card = page.locator("section.result", { has: page.locator("h2", { hasText: "Since when?" }) });
  const rows = await card.locator("details.chart-table table tbody th").allTextContents();
  const [first, last] = [rows[0], rows.at(-1)].map((text) => new Date(`1 ${text} UTC`));
  assert.equal(rows.length, 12 * (last.getUTCFullYear() - first.getUTCFullYear()) + last.getUTCMonth() - first.getUTCMonth() + 1);
  const counts = await card.locator("details.chart-table table tbody td:nth-child(2)").allTextContents();
  const used = new Set(Array.from({ length: COUNT }, (_, at) => answersOf(at).since.slice(0, 7)));
  assert.equal(counts.filter((count) => count !== "0").length, used.size);
  assert.ok(used.size < rows.length, "some month has no dates");
});
