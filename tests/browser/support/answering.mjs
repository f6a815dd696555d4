// Answers a flow as a person does: one question after the other, by clicking and typing.
//
// The steps are the same with and without JavaScript: one question is shown, and a button continues.

/** The question that is shown. */
export const shown = (page) => page.locator(".question[data-id]:visible");

export const shownId = (page) => shown(page).getAttribute("data-id");

/** Answers the questions in the order given, `[id, answer]`, then sends, and waits for the ending. */
export async function answerAll(page, answers, { send = true } = {}) {
  for (const [at, [id, answer]] of answers.entries()) {
    const section = page.locator(`#q-${id}`);
    await section.waitFor();
    await fill(section, answer);
    if (at === answers.length - 1) break;
    if (await goesOnByItself(page, section, answer)) await section.waitFor({ state: "hidden" });
    else await goOn(page);
  }
  if (send) await sendAll(page);
}

/** Whether the page goes on after this answer was clicked. */
async function goesOnByItself(page, section, answer) {
  if (page.isScripted === false || answer === null || (await page.locator("form[data-advance]").count()) === 0) return false;
  return ["one", "scale", "yesNo"].includes(await section.getAttribute("data-input")) && !answer.startsWith("other:");
}

export const goOn = (page) => press(page, "next");

export const goBack = (page) => press(page, "back");

/** Without JavaScript every step is a page, which may look the same as the previous one. */
export async function press(page, go) {
  const click = page.locator(`.actions [value=${go}]`).click();
  await (page.isScripted === false ? Promise.all([page.waitForEvent("framenavigated"), click]) : click);
}

export async function sendAll(page) {
  await page.locator(".actions [value=send]").click();
  await page.locator("main[data-state=stored]").waitFor();
}

/** Enters an answer, given in its stored form; `null` skips the question. */
export async function fill(section, answer) {
  if (answer === null) return;
  const type = await section.getAttribute("data-type");
  const pick = (value) => section.locator(`label:has(input[value="${value}"])`).click();
  const own = async (value) => section.locator(".other").fill(value.slice("other:".length));
  const pickOne = async (value) => {
    await pick(value.startsWith("other:") ? "other:" : value);
    if (value.startsWith("other:")) await own(value);
  };
  if (type === "dropdown") {
    await section.locator("select").selectOption(answer.startsWith("other:") ? "other:" : answer);
    if (answer.startsWith("other:")) await own(answer);
  } else if (type === "matrix") {
    for (const [row, column] of answer.map((cell) => cell.split(":"))) {
      await section.locator(`label:has([name$=".${row}"][value="${column}"])`).click();
    }
  } else if (type === "ranking") {
    await order(section, answer);
  } else if (["singleChoice", "rating", "nps", "yesNo", "consent"].includes(type)) {
    await pickOne(answer);
  } else if (type === "multipleChoice") {
    for (const value of answer) await pickOne(value);
  } else {
    await section.locator(".text").fill(answer);
  }
}

/** With JavaScript by the buttons, without it by the position lists. */
async function order(section, wanted) {
  const selects = section.locator("select");
  if (await selects.first().isVisible()) {
    for (const [at, option] of wanted.entries()) {
      await section.locator(`[data-option="${option}"] select`).selectOption(String(at + 1));
    }
    return;
  }
  for (const [at, option] of wanted.entries()) {
    const places = await section.locator("li").evaluateAll((items) => items.map((item) => item.dataset.option));
    for (let place = places.indexOf(option); place > at; place--) {
      await section.locator(`[data-option="${option}"] button`).first().click();
    }
  }
  const keep = section.locator(".keep");
  if (await keep.isVisible()) await keep.click();
}
