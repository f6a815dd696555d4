// Jumps, endings, scores, placeholders, sections, the welcome screen and formatted texts, with and without script.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { after, test } from "node:test";

import { fill, goBack, goOn, press, sendAll } from "./support/answering.mjs";
import { SHORT } from "./support/flows.mjs";
import { becomes } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const ROOT = resolve(import.meta.dirname, "../..");
const world = await openWorld();
after(() => world.close());

test("the way through the questions in the browser passes the same table as the server", async () => {
  const { flows, cases } = JSON.parse(readFileSync(resolve(ROOT, "crates/flow/tests/flow/routes.json"), "utf8"));
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  const script = await page.locator("script[type=module]").getAttribute("src");
  const results = await page.evaluate(async ([address, table]) => {
    const { follow, holds } = await import(address);
    return table.cases.map(({ flow, answers }) => {
      const { questions, endings = [] } = table.flows[flow];
      const allowsOther = (id) => questions.find((question) => question.id === id)?.allowOther;
      const scoreOf = ({ options = [], score }, text) => (score === "value" ? text : options.find(({ id }) => id === text)?.score);
      const given = (question) => (answers[question.id] ?? []).map((text) => ({ text, score: scoreOf(question, text) }));
      const { route, given: kept, score, to } = follow(questions.map((each) => ({ ...each, given: () => given(each) })), allowsOther);
      const texts = Object.fromEntries(Object.entries(kept).map(([id, all]) => [id, all.map(({ text }) => text)]));
      const chosen = to.startsWith("end:") ? to.slice(4) : endings.find(({ when }) => when && holds(when, texts, allowsOther, score))?.id;
      return { visible: route.map(({ id }) => id), ending: chosen ?? null, score };
    });
  }, [script, { flows, cases }]);
  cases.forEach(({ visible, ending, score, ...given }, at) => assert.deepEqual(results[at], { visible, ending, score }, JSON.stringify(given)));
});

const options = (...labels) => labels.map((label, at) => ({ id: String.fromCharCode(97 + at), label, score: at * 2.5 }));

const QUIZ = {
  title: "Quiz for {{tag:team|everyone}}",
  description: "Read the **rules** [here](https://example.com/rules).",
  welcome: { title: "Welcome, {{tag:team|guest}}", body: "Three steps:\n\n- read\n- *think*\n- answer", buttonText: "Let’s go" },
  questions: [
    { id: "name", type: "shortText", prompt: "What is your name?", required: true },
    {
      id: "level", type: "singleChoice", prompt: "How good are you, {{answer:name|friend}}?", options: options("Beginner", "Expert"), required: true,
      next: [{ when: { question: "level", equals: "b" }, to: "hard" }],
    },
    { id: "easy", type: "singleChoice", prompt: "An easy one", options: options("No", "Yes"), required: true },
    { id: "hard", type: "dropdown", prompt: "Which is hard for a {{answer:level}}?", options: [...options("One", "Two"), { id: "c", label: "What {{answer:name}} says" }], required: true },
    { id: "more", type: "yesNo", prompt: "One more?", next: [{ when: { question: "more", equals: "no" }, to: "end:bye" }] },
    { id: "stars", type: "rating", prompt: "Stars", score: "value", visibleIf: { score: true, greaterThan: 4 } },
  ],
  endings: [
    { id: "bye", title: "Goodbye, {{answer:name}}", body: "You said “{{answer:hard}}”." },
    { id: "high", when: { score: true, greaterThan: 7 }, title: "{{score}} points", body: "Well done!" },
  ],
  ending: { title: "Thank you" },
  respondentAnalytics: "never",
};

const heading = (page, id) => page.locator(`#q-${id} h2`).innerText();

for (const script of [true, false]) {
  const way = script ? "with" : "without";

  test(`a jump passes over a required question, and the ending depends on the score (${way} script)`, async () => {
    const flow = await world.flow(QUIZ);
    const page = await world.visit(`${flow.path}?tags.team=Red`, { script });
    assert.equal(await page.title(), "Quiz for Red");
    await becomes(() => page.locator("h1:visible").innerText(), "Welcome, Red");
    assert.deepEqual(await page.locator(".welcome li").allInnerTexts(), ["read", "think", "answer"]);
    assert.equal(await page.locator(".welcome em").innerText(), "think");
    assert.equal(await page.locator(".progress:visible").count(), 0);
    assert.equal(await page.locator(".actions .primary").innerText(), "Let’s go");
    await goOn(page);
    await fill(page.locator("#q-name"), "Ada <b>");
    await goBack(page);
    await page.locator(".welcome:visible").waitFor();
    await goOn(page);
    await page.locator("#q-name").waitFor();
    assert.equal(await page.locator("#q-name .text").inputValue(), "Ada <b>");
    await goOn(page);
    await page.locator("#q-level").waitFor();
    assert.match(await heading(page, "level"), /How good are you, Ada <b>\?/);
    await fill(page.locator("#q-level"), "b");
    await goOn(page);
    await page.locator("#q-hard").waitFor();
    assert.match(await heading(page, "hard"), /Which is hard for a Expert\?/);
    assert.equal(await page.locator("#q-hard option[value=c]").innerText(), "What Ada <b> says");
    await fill(page.locator("#q-hard"), "b");
    await goOn(page);
    await page.locator("#q-more").waitFor();
    await fill(page.locator("#q-more"), "yes");
    await goOn(page);
    await page.locator("#q-stars").waitFor();
    await fill(page.locator("#q-stars"), "3");
    await sendAll(page);
    await becomes(() => page.locator("h1").innerText(), "8 points");
    assert.equal(await page.locator(".lead").innerText(), "Well done!");
    const [stored] = await world.responses(flow);
    assert.deepEqual(stored.answers, { hard: "b", level: "b", more: "yes", name: "Ada <b>", stars: "3" });
    assert.equal(stored.score, 8);
  });

  test(`a jump to an ending shows that one, with the answers in it (${way} script)`, async () => {
    const flow = await world.flow(QUIZ);
    const page = await world.visit(flow.path, { script });
    await goOn(page);
    for (const [id, answer] of [["name", "Bo"], ["level", "a"], ["easy", "a"], ["hard", "c"], ["more", "no"]]) {
      await page.locator(`#q-${id}`).waitFor();
      await fill(page.locator(`#q-${id}`), answer);
      if (id !== "more") await goOn(page);
    }
    // Without a script, whether the question is the last is only known when it is sent.
    if (!script) await goOn(page);
    await sendAll(page);
    await becomes(() => page.locator("h1").innerText(), "Goodbye, Bo");
    assert.equal(await page.locator(".lead").innerText(), "You said “What Bo says”.");
    const [stored] = await world.responses(flow);
    assert.equal(stored.score, 0);
    assert.equal("stars" in stored.answers, false);
  });

  test(`the questions of a section share a page (${way} script)`, async () => {
    const flow = await world.flow({
      title: "Sections", respondentAnalytics: "never",
      questions: [
        { id: "first", type: "shortText", prompt: "First" },
        { id: "contact", type: "yesNo", prompt: "May we call?", required: true },
        { id: "tel", type: "phone", prompt: "Your number", required: true, visibleIf: { question: "contact", equals: "yes" } },
        { id: "when", type: "shortText", prompt: "When, {{answer:first|you}}?" },
        { id: "last", type: "shortText", prompt: "Last" },
      ],
      sections: [{ id: "calls", title: "About *calls*", questions: ["contact", "tel", "when"] }],
    });
    const page = await world.visit(flow.path, { script });
    await fill(page.locator("#q-first"), "Ada");
    assert.equal(await page.locator(".part:visible").count(), 0);
    await goOn(page);
    await page.locator("#q-contact").waitFor();
    assert.equal(await page.locator(".part:visible").innerText(), "About calls");
    await becomes(() => visible(page), ["contact", "when"]);
    assert.match(await heading(page, "when"), /When, Ada\?/);
    await fill(page.locator("#q-contact"), "yes");
    await fill(page.locator("#q-when"), "Noon");
    // Without a script, the page comes again with the question that the answer made visible.
    if (!script) await goOn(page);
    await becomes(() => visible(page), ["contact", "tel", "when"]);
    await becomes(() => page.locator(".progress p").innerText(), "Question 2 of 5");
    await goOn(page);
    await page.locator(".question .error").first().waitFor();
    await page.waitForLoadState("load");
    assert.equal(await page.locator(".question .error").count(), 1);
    await fill(page.locator("#q-tel"), "+49 30 1234");
    await goOn(page);
    await page.locator("#q-last").waitFor();
    await becomes(() => visible(page), ["last"]);
    await goBack(page);
    await becomes(() => visible(page), ["contact", "tel", "when"]);
    await goOn(page);
    await page.locator("#q-last").waitFor();
    await sendAll(page);
    const [stored] = await world.responses(flow);
    assert.deepEqual(stored.answers, { contact: "yes", first: "Ada", tel: "+49 30 1234", when: "Noon" });
    assert.equal(stored.score, null);
  });

  test(`options come in random order that stays the same within a visit (${way} script)`, async () => {
    const many = [..."abcdefgh"].map((id) => ({ id, label: id.toUpperCase() }));
    many.push({ id: "none", label: "None of these", fixed: true });
    const flow = await world.flow({
      title: "Order", respondentAnalytics: "never",
      questions: [
        { id: "one", type: "singleChoice", prompt: "One", options: many, optionOrder: "random", allowOther: true, required: true },
        { id: "two", type: "ranking", prompt: "Two", options: many.slice(0, 3), optionOrder: "random" },
      ],
    });
    const orders = new Set();
    for (let visit = 0; visit < 4; visit++) {
      const page = await world.visit(flow.path, { script });
      const order = () => page.locator("#q-one input[type=radio]").evaluateAll((fields) => fields.map(({ value }) => value));
      const before = await order();
      orders.add(before.join());
      assert.deepEqual(before.slice(-2), ["none", "other:"]);
      assert.deepEqual([...before].sort(), [...many.map(({ id }) => id), "other:"].sort());
      await press(page, "next");
      await page.locator(".question .error").first().waitFor();
      await becomes(order, before);
      await page.context().close();
    }
    assert.ok(orders.size > 1, [...orders].join(" "));
  });

  test(`only links, emphasis and lists become elements (${way} script)`, async () => {
    const flow = await world.flow({
      title: "A *title*", respondentAnalytics: "never",
      description: "1. one\n2. two\n\n<img src=x> [x](javascript:alert) [mail](mailto:a@b.example)",
      questions: [{ id: "ok", type: "consent", prompt: "I accept the [terms](https://example.com/terms?a=1&b=2).", help: "**Really**\n\n- a\n- b" }],
    });
    const page = await world.visit(flow.path, { script });
    assert.equal(await page.title(), "A title");
    assert.equal(await page.locator("h1 em").innerText(), "title");
    assert.deepEqual(await page.locator(".intro .lead ol li").allInnerTexts(), ["one", "two"]);
    assert.equal(await page.locator(".intro .lead p").innerText(), "<img src=x> [x](javascript:alert) mail");
    const link = page.locator("#q-ok h2 a");
    assert.deepEqual(
      [await link.getAttribute("href"), await link.getAttribute("target"), await link.getAttribute("rel")],
      ["https://example.com/terms?a=1&b=2", "_blank", "noopener noreferrer"]);
    assert.deepEqual(await page.locator("#h-ok li").allInnerTexts(), ["a", "b"]);
    assert.equal(await page.locator("#h-ok strong").innerText(), "Really");
    assert.equal(await page.locator("img[src=x]").count(), 0);
  });
}

test("a submission by the API gets its score, and a jump passes over required questions there too", async () => {
  const flow = await world.flow(QUIZ);
  const send = async (answers, headers = {}) => {
    const reply = await fetch(`${flow.base}/trpc/response.submit`, {
      method: "POST", headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify({ flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers }),
    });
    return (await reply.json()).result.data;
  };
  const answers = { name: "Ada", level: "b", hard: "b", more: "no" };
  const first = await send(answers, { "Idempotency-Key": "once" });
  assert.deepEqual({ ...first, responseId: "" }, { success: true, responseId: "", score: 5 });
  assert.deepEqual(await send(answers, { "Idempotency-Key": "once" }), first);
  const missing = await send({ name: "Ada", level: "a", hard: "b" });
  assert.deepEqual(missing.errors.issues.map(({ path }) => path), [["answers", "easy"]]);
  const plain = await world.flow(SHORT);
  assert.equal(plain.flowVersionId.startsWith("fv_"), true);
});

const visible = (page) => page.locator(".question[data-id]:visible").evaluateAll((all) => all.map(({ dataset }) => dataset.id));

