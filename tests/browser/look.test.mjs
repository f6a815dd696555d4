// How the page behaves while one answers: progress, going on by itself, the layout of scales, consent.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { answerAll, fill, goBack, goOn, sendAll, shownId } from "./support/answering.mjs";
import { ASKING } from "./support/flows.mjs";
import { becomes, matches, until } from "./support/until.mjs";
import { DESKTOP_WAYS, openWorld, WAYS } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());

const options = [{ id: "a", label: "A" }, { id: "b", label: "B" }];
const yes = (question) => ({ question, equals: "yes" });
const NESTED = [
  { id: "one", type: "yesNo", prompt: "One?" },
  { id: "two", type: "yesNo", prompt: "Two?", visibleIf: yes("one") },
  { id: "three", type: "yesNo", prompt: "Three?", visibleIf: { not: yes("one") } },
  { id: "four", type: "yesNo", prompt: "Four?", visibleIf: { any: [yes("two"), yes("three")] } },
  { id: "five", type: "shortText", prompt: "Five?" },
];

for (const way of WAYS) {
  test(`the progress follows the longest path and never goes back (${way})`, async () => {
    const flow = await world.flow({ questions: NESTED });
    const progress = async (page) => [await page.locator(".progress p").innerText(),
      await page.locator("progress").evaluate((bar) => bar.value / bar.max)];
    for (const [answers, texts] of [
      [[["one", "yes"], ["two", "no"], ["five", null]], ["Question 1 of 5", "Question 2 of 4", "Question 3 of 3"]],
      [[["one", "no"], ["three", "yes"], ["four", "no"], ["five", null]], ["Question 1 of 5", "Question 2 of 4", "Question 3 of 4", "Question 4 of 4"]],
    ]) {
      const page = await world.visit(flow.path, way);
      let last = 0;
      for (const [at, [id, answer]] of answers.entries()) {
        await page.locator(`#q-${id}`).waitFor();
        await becomes(async () => (await progress(page))[0], texts[at]);
        const [, share] = await progress(page);
        assert.ok(share > last, `${id}: ${share} after ${last}`);
        await fill(page.locator(`#q-${id}`), answer);
        assert.deepEqual(await progress(page), [texts[at], share], "the answer does not move the bar");
        last = share;
        if (at < answers.length - 1) await goOn(page);
      }
      await goBack(page);
      await becomes(async () => (await progress(page))[0], texts.at(-2));
    }
  });
}

const SINGLE = [
  { id: "nps", type: "nps", prompt: "Would you recommend us?" },
  { id: "pick", type: "singleChoice", prompt: "Which?", options, allowOther: true },
  { id: "stars", type: "rating", prompt: "How many stars?" },
  { id: "grid", type: "matrix", prompt: "Each?", rows: options, columns: options },
  { id: "many", type: "multipleChoice", prompt: "Any?", options },
  { id: "last", type: "yesNo", prompt: "Sure?" },
];
/** Longer than the page waits before it goes on. */
const QUIET_MS = 600;

for (const size of ["desktop", "phone"]) {
  test(`a click on a single choice goes on, and nothing else does (${size})`, async () => {
    const flow = await world.flow({ questions: SINGLE, autoAdvance: true });
    const page = await world.visit(flow.path, { size });
    const click = (id, value) => page.locator(`#q-${id} label:has([value="${value}"])`).first().click();
    const stays = async (id) => {
      await page.waitForTimeout(QUIET_MS);
      assert.equal(await shownId(page), id);
    };
    await click("nps", "9");
    await becomes(() => shownId(page), "pick");
    await becomes(() => page.evaluate(() => document.activeElement.textContent.trim()), "Which? (optional)");
    await click("pick", "other:");
    await stays("pick");
    await click("pick", "b");
    await becomes(() => shownId(page), "stars");
    await goBack(page);
    await becomes(() => page.locator("#q-pick [value=b]").isChecked(), true);
    await click("pick", "a");
    await becomes(() => shownId(page), "stars");
    await click("stars", "4");
    await becomes(() => shownId(page), "grid");
    await click("grid", "a");
    await stays("grid");
    await goOn(page);
    await click("many", "a");
    await stays("many");
    await goOn(page);
    // Sending needs a decision.
    await click("last", "yes");
    await stays("last");
    await sendAll(page);
    assert.deepEqual((await world.responses(flow))[0].answers, { nps: "9", pick: "a", stars: "4", grid: ["a:a"], many: ["a"], last: "yes" });
  });
}

test("a press on Next that began before the page goes on by itself skips no question", async () => {
  const flow = await world.flow({ questions: SINGLE, autoAdvance: true });
  const page = await world.visit(flow.path);
  // In one task, so that the press is never late.
  await page.evaluate(() => {
    document.querySelector("#q-nps [value='9']").dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
    document.querySelector(".primary").dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
  });
  await page.waitForTimeout(QUIET_MS);
  assert.equal(await shownId(page), "nps");
  await page.evaluate(() => document.querySelector(".primary").click());
  await becomes(() => shownId(page), "pick");
  await page.waitForTimeout(QUIET_MS);
  assert.equal(await shownId(page), "pick");
});

test("with the keyboard, choices can be looked through; only Enter goes on", async () => {
  const flow = await world.flow({ questions: SINGLE, autoAdvance: true });
  const page = await world.visit(flow.path);
  await page.locator("#q-nps input").first().focus();
  await page.keyboard.press("Space");
  for (let presses = 0; presses < 3; presses++) await page.keyboard.press("ArrowRight");
  await page.waitForTimeout(QUIET_MS);
  await becomes(() => page.locator("#q-nps input:checked").inputValue(), "3");
  await page.keyboard.press("8");
  await page.waitForTimeout(QUIET_MS);
  assert.equal(await shownId(page), "nps");
  await page.keyboard.press("Enter");
  await becomes(() => shownId(page), "pick");
});

test("a flow can turn going on by itself off, and without script nothing moves", async () => {
  const off = await world.flow({ questions: SINGLE, autoAdvance: false });
  const on = await world.flow({ questions: SINGLE, autoAdvance: true });
  for (const [path, script] of [[off.path, true], [on.path, false]]) {
    const page = await world.visit(path, { script });
    await fill(page.locator("#q-nps"), "9");
    await page.waitForTimeout(QUIET_MS);
    assert.equal(await shownId(page), "nps");
    await goOn(page);
    await becomes(() => shownId(page), "pick");
  }
});

/** The least size of a target for a finger, in pixels. */
const TARGET = 44;

test("scales are one row, or two on a phone if there are many marks, with labels at the ends", async () => {
  const labels = { lowLabel: "Not at all likely", highLabel: "Extremely likely" };
  const scales = [
    { id: "nps", type: "nps", prompt: "NPS", ...labels },
    { id: "ten", type: "rating", max: 10, prompt: "Stars", ...labels },
    { id: "five", type: "rating", prompt: "Stars", ...labels },
    { id: "faces", type: "rating", shape: "emoji", max: 10, prompt: "Faces", ...labels },
    { id: "marks", type: "rating", shape: "number", max: 10, prompt: "Marks", ...labels },
  ];
  for (const size of ["phone", "desktop"]) {
    for (const scale of scales) {
      const flow = await world.flow({ questions: [scale] });
      const page = await world.visit(flow.path, { size });
      const boxes = await page.locator(".mark").evaluateAll((all) => all.map((each) => each.getBoundingClientRect().toJSON()));
      const rows = size === "phone" && boxes.length > 6 ? 2 : 1;
      assert.equal(new Set(boxes.map(({ top }) => Math.round(top))).size, rows, `${scale.id}: ${rows} rows`);
      assert.ok(boxes.every(({ width, height }) => width >= TARGET && height >= TARGET), `${scale.id}: wide enough`);
      const ends = await page.locator(".ends span").evaluateAll((all) => all.map((each) => {
        const range = document.createRange();
        range.selectNodeContents(each);
        return range.getBoundingClientRect().toJSON();
      }));
      // In two rows, the low end is in the first and the high end in the last.
      assert.ok(rows === 2 ? ends[0].bottom <= boxes[0].top : ends[0].top >= boxes[0].bottom, `${scale.id}: at the low end`);
      assert.ok(ends[1].top >= boxes.at(-1).bottom, `${scale.id}: below the high end`);
      assert.ok(Math.abs(ends[0].left - boxes[0].left) < 3, `${scale.id}: the low label is at the start`);
      assert.ok(Math.abs(ends[1].right - Math.max(...boxes.map(({ right }) => right))) < 3, `${scale.id}: the high label is at the end`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
      const described = await page.locator("fieldset").evaluate((group) =>
        group.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id).textContent));
      assert.deepEqual(described, Object.values(labels));
    }
  }
});

test("the columns of a matrix have the same width", async () => {
  const labelled = (labels) => labels.map((label, at) => ({ id: `c${at}`, label }));
  const columns = labelled(["Very dissatisfied", "Dissatisfied", "Neither", "OK", "Very satisfied"]);
  const flow = await world.flow({ questions: [{ id: "grid", type: "matrix", prompt: "Each?", rows: labelled(["Price", "Speed"]), columns }] });
  const page = await world.visit(flow.path);
  const heads = await page.locator(".matrix thead th").evaluateAll((all) => all.map((each) => [each.offsetWidth, each.scrollWidth]));
  assert.ok(heads.every(([width]) => Math.abs(width - heads[0][0]) <= 1), JSON.stringify(heads));
  assert.ok(heads.every(([width, content]) => content <= width), "no label is cut off");
});

for (const way of WAYS) {
  test(`a message is confirmed with OK, and thanks for no answers (${way})`, async () => {
    const flow = await world.flow({ title: "We moved", description: "Our new address is 1 New Road.", questions: [] });
    const page = await world.visit(flow.path, way);
    await becomes(() => page.locator("button.primary").innerText(), "OK");
    await page.locator("button.primary").click();
    await page.locator("[data-state=stored]").waitFor();
    await becomes(() => page.locator("main").innerText(), "Thank you");
  });
}

test("the stars up to the chosen one are filled", async () => {
  const flow = await world.flow({ questions: [{ id: "stars", type: "rating", prompt: "Stars" }] });
  const page = await world.visit(flow.path);
  await fill(page.locator("#q-stars"), "3");
  await page.mouse.move(0, 0);
  // The pointer leaves the star after the call has returned.
  await until(async () => {
    const masks = await page.locator(".mark span").evaluateAll((all) => all.map((each) => getComputedStyle(each, "::before").maskImage));
    assert.ok(masks.every((mask) => mask.includes("svg")));
    assert.deepEqual(masks.map((mask) => mask === masks[0]), [true, true, true, false, false]);
  });
});

test("faces stay whole when one is chosen", async () => {
  const flow = await world.flow({ questions: [{ id: "face", type: "rating", shape: "emoji", prompt: "Faces" }] });
  const page = await world.visit(flow.path, { theme: "dark" });
  await fill(page.locator("#q-face"), "4");
  const looks = () => page.locator(".mark span").evaluateAll((all) => all.map((each) => {
    const { maskImage, color } = getComputedStyle(each, "::before");
    return [maskImage, color === getComputedStyle(document.body).color];
  }));
  await becomes(looks, Array(5).fill(["none", true]));
});

test("the question is in the middle of the page, but not in a frame", async () => {
  const flow = await world.flow({ questions: SINGLE.slice(0, 2) });
  const page = await world.visit(flow.path);
  const space = await page.evaluate(() => {
    const stage = document.querySelector(".stage");
    const [first, last] = [stage.querySelector(".intro"), stage.querySelector(".actions")].map((each) => each.getBoundingClientRect());
    return [first.top - document.querySelector(".progress").getBoundingClientRect().bottom, innerHeight - last.bottom];
  });
  assert.ok(space[0] > 60 && space[1] < 3 * space[0] && space[1] > space[0] / 3, JSON.stringify(space));
  await page.goto(world.address(`${flow.path}?embed=1`));
  assert.ok(await page.evaluate(() => document.body.getBoundingClientRect().height < innerHeight - 100));
});

for (const way of DESKTOP_WAYS) {
  test(`only people who are known are asked, and the ending says what is true (${way})`, async () => {
    const mail = { id: "mail", type: "email", prompt: "Your address" };
    const flow = await world.flow({ ...ASKING, questions: [...ASKING.questions, mail] });
    const ending = (page) => page.locator(".detail").innerText();
    for (const [query, answer, text] of [
      ["", null, /They are anonymous/],
      ["", "ada@example.com", /not linked to you\. Anything you wrote/],
      ["?identities.userId=ada", "ada@example.com", /not linked to you\. Anything you wrote/],
    ]) {
      const page = await world.visit(flow.path + query, way);
      await answerAll(page, [["nps", "9"], ["mail", answer]], { send: false });
      await becomes(() => page.locator("[name=analytics]").count(), query ? 1 : 0);
      await sendAll(page);
      await matches(() => ending(page), text);
    }
    const page = await world.visit(`${flow.path}?identities.userId=ada`, way);
    await answerAll(page, [["nps", "9"], ["mail", null]], { send: false });
    await page.locator(".consent label").click();
    await sendAll(page);
    await matches(() => ending(page), /they are linked to you/);
  });
}
