// A whole flow by keyboard only, with a visible focus.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { EVERY_TYPE } from "./support/flows.mjs";
import { shownId } from "./support/answering.mjs";
import { becomes, until } from "./support/until.mjs";
import { DESKTOP_WAYS, openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());

/** The digits that select these, with JavaScript. */
const PICKED = { nps: "10", stars: "4", face: "5", mark: "10", again: "1" };

/** Presses Tab until a matching element has the focus. */
async function tabTo(page, selector) {
  for (let presses = 0; presses < 60; presses++) {
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not lead to ${selector}`);
}

/** Whether the focused element, or its visual substitute, has a focus ring. */
const hasRing = (page) => page.evaluate(() => {
  const { activeElement: focused } = document;
  const around = [focused, focused.closest("label"), focused.nextElementSibling].filter(Boolean);
  return around.some((each) => getComputedStyle(each).outlineStyle !== "none" && parseFloat(getComputedStyle(each).outlineWidth) >= 2);
});

async function answer(page, { id, type }, value, script) {
  const first = `#q-${id} input, #q-${id} select, #q-${id} textarea`;
  if (value === null) return;
  if (type === "ranking") {
    if (script) {
      await tabTo(page, `#q-${id} [data-option="care"] button`);
      await page.keyboard.press("Enter");
      return page.keyboard.press("Enter");
    }
    for (const [at, option] of value.entries()) {
      await tabTo(page, `[name="rank.${id}.${option}"]`);
      await page.keyboard.press(String(at + 1));
    }
    return;
  }
  if (type === "matrix") {
    for (const [row, column] of value.map((cell) => cell.split(":"))) {
      await tabTo(page, `[name="matrix.${id}.${row}"]`);
      await page.keyboard.press("Space");
      if (column === "good") await page.keyboard.press("ArrowRight");
    }
    return;
  }
  await tabTo(page, first);
  assert.ok(await hasRing(page), `${id} shows its focus`);
  if (script && PICKED[id]) {
    // Two digits form one number only within a second.
    await until(async () => {
      for (const digit of PICKED[id]) await page.keyboard.press(digit);
      assert.equal(await page.locator(`#q-${id} input:checked`).inputValue(), value);
    });
  } else if (type === "dropdown") {
    for (let presses = 0; presses < 2; presses++) await page.keyboard.press("ArrowDown");
  } else if (type === "multipleChoice") {
    for (const option of value) {
      await tabTo(page, `#q-${id} [value="${option.startsWith("other:") ? "other:" : option}"]`);
      await page.keyboard.press("Space");
    }
    await tabTo(page, `[name="other.${id}"]`);
    await page.keyboard.type(value.at(-1).slice("other:".length));
  } else if (["nps", "rating", "yesNo", "singleChoice", "consent"].includes(type)) {
    await page.keyboard.press("Space");
    const wanted = value.startsWith("other:") ? "other:" : value;
    const isThere = () => page.evaluate((option) => document.activeElement.value === option, wanted);
    for (let presses = 0; presses < 12 && !(await isThere()); presses++) await page.keyboard.press("ArrowDown");
    if (wanted === "other:") {
      await tabTo(page, `[name="other.${id}"]`);
      await page.keyboard.type(value.slice("other:".length));
    }
  } else if (type === "date") {
    // Day and month are equal, because browsers disagree about their order.
    await page.keyboard.type("03032024");
  } else {
    await page.keyboard.type(value);
  }
}

for (const way of DESKTOP_WAYS) {
  test(`every question type is answered and sent by keyboard only (${way})`, async () => {
    const flow = await world.flow({ questions: EVERY_TYPE.map(([question]) => question), respondentAnalytics: "never" });
    const page = await world.visit(flow.path, way);
    for (const [at, [question, value]] of EVERY_TYPE.entries()) {
      await page.locator(`#q-${question.id}`).waitFor();
      // The page sets the focus before it is loaded.
      await page.waitForLoadState("load");
      await becomes(() => shownId(page), question.id);
      await answer(page, question, value, way.script);
      const isLast = at === EVERY_TYPE.length - 1;
      // Enter continues from a field; in a long text it adds a line, and a list handles it itself.
      const takesEnter = ["longText", "dropdown", "ranking"].includes(question.type) || (value === null && !way.script);
      if (takesEnter) {
        if (way.script && question.type === "longText") {
          await page.keyboard.press("Control+Enter");
          continue;
        }
        await tabTo(page, ".primary");
        assert.ok(await hasRing(page), "the button shows its focus");
      }
      await page.keyboard.press("Enter");
      if (isLast) await page.locator("main[data-state=stored]").waitFor();
    }
    const [{ answers }] = await world.responses(flow);
    const expected = EVERY_TYPE.filter(([, value]) => value !== null).map(([{ id }, value]) => [id, value]);
    assert.deepEqual(answers, Object.fromEntries(expected));
  });
}

test("after each step the focus is on the question, and the progress is announced", async () => {
  const flow = await world.flow({ questions: EVERY_TYPE.slice(0, 3).map(([question]) => question), respondentAnalytics: "never" });
  const page = await world.visit(flow.path);
  await page.keyboard.press("Enter");
  await becomes(() => page.evaluate(() => document.activeElement.textContent), "Would you recommend us?");
  await becomes(() => page.locator(".progress p").innerText(), "Question 2 of 3");
  await page.keyboard.press("7");
  await page.keyboard.press("Enter");
  await becomes(() => page.evaluate(() => document.activeElement.name), "answers.name");
});

test("an item of a ranking can be dragged", async () => {
  const flow = await world.flow({ questions: [EVERY_TYPE.find(([{ type }]) => type === "ranking")[0]], respondentAnalytics: "never" });
  const page = await world.visit(flow.path);
  // A hover waits until the grip stops moving.
  await page.locator("[data-option=care] .grip").hover();
  const top = await page.locator(".ranking li").first().boundingBox();
  await page.mouse.down();
  await page.mouse.move(top.x + 20, top.y + 4, { steps: 6 });
  await page.mouse.up();
  await page.locator(".primary").click();
  await page.locator("main[data-state=stored]").waitFor();
  assert.deepEqual((await world.responses(flow))[0].answers, { order: ["care", "price", "speed"] });
});
