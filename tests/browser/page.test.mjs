// The page's size, requests and content security policy, and its logic compared with the server's.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { after, test } from "node:test";

import { logo, SHORT } from "./support/flows.mjs";
import { press, sendAll, answerAll } from "./support/answering.mjs";
import { becomes } from "./support/until.mjs";
import { openWorld, SIZES } from "./support/world.mjs";

const ROOT = resolve(import.meta.dirname, "../..");
const PAGE_BYTES_MAX = 15 * 1024;
const REQUESTS_MAX = 3;
const TARGET_PX_MIN = 44;
const MARK_PX_MIN = 28;

const world = await openWorld({ demo: true });
after(() => world.close());

test("the page with script, style and logo is at most 15 KB and three requests", async () => {
  const [{ appId }] = (await world.server.admin("GET", "/apps")).items;
  const [{ flowId }] = (await world.server.admin("GET", `/apps/${appId}/flows`)).items;
  await world.server.admin("PATCH", `/apps/${appId}`, { hosted: { accentColor: "#0a7d4f", logo: logo() } });
  const page = await world.visit("/healthz");
  const finished = new Map();
  // By address: the logo is also the icon of the page, which the browser takes from its cache.
  page.on("requestfinished", (request) => finished.has(request.url()) || finished.set(request.url(), request.sizes()));
  await page.goto(world.address(`/f/${flowId}`), { waitUntil: "networkidle" });
  const replies = (await Promise.all(finished.values())).map(({ responseBodySize }) => responseBodySize);
  const bytes = replies.reduce((sum, each) => sum + each, 0);
  console.log(`the page of the demo: ${bytes} bytes in ${replies.length} requests (${replies.join(", ")})`);
  assert.ok(bytes <= PAGE_BYTES_MAX, `${bytes} bytes`);
  assert.ok(replies.length <= REQUESTS_MAX, `${replies.length} requests`);
});

test("visibleIf in the browser passes the same table as the server", async () => {
  const { questions, cases } = JSON.parse(readFileSync(resolve(ROOT, "crates/flow/tests/flow/visible_if.json"), "utf8"));
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  const script = await page.locator("script[type=module]").getAttribute("src");
  const results = await page.evaluate(async ([address, table]) => {
    const { holds } = await import(address);
    const others = new Set(table.questions.filter(({ allowOther }) => allowOther).map(({ id }) => id));
    return table.cases.map(({ if: condition, answers }) => holds(condition, answers, (id) => others.has(id)));
  }, [script, { questions, cases }]);
  cases.forEach((each, at) => assert.equal(results[at], each.holds, JSON.stringify(each)));
});

const HOSTILE = `"><script>hit = 1</script><img src=x onerror="hit = 1">'`;

for (const script of [true, false]) {
  test(`text from authors and respondents never runs as a script (${script ? "with" : "without"} script)`, async () => {
    const questions = [
      { id: "name", type: "shortText", prompt: `Name ${HOSTILE}`, help: HOSTILE },
      { id: "pick", type: "singleChoice", prompt: "Pick", options: [{ id: "a", label: HOSTILE }], allowOther: true },
      { id: "mail", type: "email", prompt: "Mail", required: true },
    ];
    const texts = { title: HOSTILE, description: HOSTILE, ending: { title: HOSTILE, body: HOSTILE } };
    const flow = await world.flow({ ...texts, questions, respondentAnalytics: "never" });
    const query = new URLSearchParams({ "tags.a": HOSTILE, [`tags.${HOSTILE}`]: "x".repeat(600), "context.locale": HOSTILE });
    const page = await world.visit(`${flow.path}?${query}`, { script });
    await answerAll(page, [["name", HOSTILE], ["pick", `other:${HOSTILE}`], ["mail", "no"]], { send: false });
    await press(page, "send");
    await page.locator("#q-mail .error").waitFor();
    await press(page, "back");
    await becomes(() => page.locator("[name='other.pick']").inputValue(), HOSTILE);
    await press(page, "next");
    await page.locator("#q-mail .text").fill("ada@example.com");
    await sendAll(page);
    await becomes(() => page.locator("h1").innerText(), HOSTILE);
    await becomes(() => page.evaluate(() => typeof hit), "undefined");
    assert.equal((await world.responses(flow))[0].answers.name, HOSTILE);
  });
}

test("the policy of the page allows no inline script, no other origin and no plug-in", async () => {
  const flow = await world.flow(SHORT);
  const reply = await fetch(world.address(flow.path));
  const policy = reply.headers.get("content-security-policy");
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /unsafe-|\*/);
  assert.equal(reply.headers.get("x-content-type-options"), "nosniff");
  assert.match(reply.headers.get("referrer-policy"), /strict-origin/);
  assert.doesNotMatch(reply.headers.get("set-cookie") ?? "", /./);
});

test("on a phone nothing is cut off, and targets are at least 44 px, in a row of eleven 44 px high", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path, { size: "phone" });
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.equal(width, SIZES.phone.width);
  for (const target of await page.locator(".mark:visible, .choice:visible, button:visible").all()) {
    const box = await target.boundingBox();
    const isMark = await target.evaluate((element) => element.matches(".mark"));
    assert.ok(box.height >= TARGET_PX_MIN && box.width >= (isMark ? MARK_PX_MIN : TARGET_PX_MIN), JSON.stringify(box));
  }
});

test("the page uses the reader's language, from the address or the browser", async () => {
  const translations = { de: { title: "Kurz", questions: { nps: { prompt: "Würden Sie uns empfehlen?" } } } };
  const flow = await world.flow({ ...SHORT, translations });
  for (const [path, locale, lang, prompt] of [
    [flow.path, "en-GB", "en", "Would you recommend us?"],
    [flow.path, "de-AT", "de", "Würden Sie uns empfehlen?"],
    [`${flow.path}?context.locale=de`, "en-GB", "de", "Würden Sie uns empfehlen?"],
    [`${flow.path}?context.locale=fr`, "de-DE", "de", "Würden Sie uns empfehlen?"],
    [`${flow.path}?context.locale=fr`, "it-IT", "en", "Would you recommend us?"],
  ]) {
    const page = await world.visit(path, { locale });
    await becomes(() => page.locator("#q-nps h2").innerText(), prompt, `${path} ${locale}`);
    await becomes(async () => (await page.locator("html").getAttribute("lang")).slice(0, 2), lang);
  }
});

test("the colour and the logo of the app are shown, the logo in its own style", async () => {
  const flow = await world.flow(SHORT, { app: { hosted: { accentColor: "#ffd400", logo: logo("#c2185b") } } });
  const page = await world.visit(flow.path);
  const pixel = await page.locator(".logo").evaluate(async (image) => {
    await image.decode();
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.drawImage(image, 0, 0);
    return [...canvas.getImageData(4, 4, 1, 1).data];
  });
  assert.deepEqual(pixel, [0xc2, 0x18, 0x5b, 255]);
  const button = await page.locator(".primary").evaluate((element) => {
    const { backgroundColor, color } = getComputedStyle(element);
    return [backgroundColor, color];
  });
  assert.equal(button[0], "rgb(255, 212, 0)");
  assert.match(button[1], /^rgb\((0, 0, 0|[0-3]?\d, [0-3]?\d, [0-3]?\d)\)$/, "dark text on a light colour");
});
