// Every question type, answered by clicking and typing, is stored as the API specifies.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { EVERY_TYPE, SHORT } from "./support/flows.mjs";
import { fill, goBack, goOn, press, sendAll, shownId, answerAll } from "./support/answering.mjs";
import { becomes } from "./support/until.mjs";
import { openWorld, WAYS } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());

for (const way of WAYS) {
  test(`every question type is stored as answered (${way})`, async () => {
    const flow = await world.flow({ questions: EVERY_TYPE.map(([question]) => question), respondentAnalytics: "never" });
    const page = await world.visit(flow.path, way);
    await answerAll(page, EVERY_TYPE.map(([{ id }, answer]) => [id, answer]));
    const expected = EVERY_TYPE.filter(([, answer]) => answer !== null).map(([{ id }, answer]) => [id, answer]);
    const [response, ...others] = await world.responses(flow);
    assert.deepEqual(response.answers, Object.fromEntries(expected));
    assert.equal(response.flowVersionId, flow.flowVersionId);
    assert.equal(response.respondentAnalyticsAdmission, "collection_only");
    assert.deepEqual(others, []);
  });

  test(`logic hides a question and shows it again (${way})`, async () => {
    const flow = await world.flow(SHORT);
    const page = await world.visit(flow.path, way);
    await answerAll(page, [["nps", "3"], ["why", "Too slow"], ["name", "Ada"]], { send: false });
    // The respondent changes an answer: the question disappears, and so does its answer.
    for (const id of ["why", "nps"]) {
      await goBack(page);
      await page.locator(`#q-${id}`).waitFor();
    }
    await answerAll(page, [["nps", "9"], ["name", null]], { send: false });
    await becomes(() => page.locator("#q-name .text").inputValue(), "Ada");
    await sendAll(page);
    const [{ answers }] = await world.responses(flow);
    assert.deepEqual(answers, { nps: "9", name: "Ada" });
  });

  test(`a wrong answer is reported once, next to its field, which gets the focus (${way})`, async () => {
    const questions = [
      { id: "team", type: "number", prompt: "How many are you?", min: 1, max: 500, integer: true, required: true },
      { id: "plan", type: "singleChoice", prompt: "Which plan?", options: [{ id: "a", label: "A" }, { id: "b", label: "B" }], required: true },
      { id: "mail", type: "email", prompt: "Your address", required: true },
    ];
    const flow = await world.flow({ questions, respondentAnalytics: "never" });
    const page = await world.visit(flow.path, way);
    const focused = () => page.evaluate(() => document.activeElement.name);
    const complaint = page.locator(".error:visible");
    for (const [wrong, right, text] of [["", "501", "Answer this question."], ["501", "12", "Enter a whole number: from 1 to 500."]]) {
      await fill(page.locator("#q-team"), wrong);
      await goOn(page);
      await becomes(() => complaint.allInnerTexts(), [text]);
      await becomes(() => shownId(page), "team");
      await becomes(() => page.locator("#q-team .text").inputValue(), wrong);
      await becomes(() => page.locator("#q-team .text").getAttribute("aria-invalid"), "true");
      await becomes(() => page.locator("#q-team .text").getAttribute("aria-describedby"), "e-team");
      await becomes(focused, "answers.team");
      assert.equal(await page.getByText(text, { exact: true }).count(), 1);
      await fill(page.locator("#q-team"), right);
    }
    await goOn(page);
    await page.locator("#q-plan").waitFor();
    await becomes(() => complaint.count(), 0);
    await goOn(page);
    await becomes(() => complaint.allInnerTexts(), ["Answer this question."]);
    await becomes(focused, "answers.plan");
    await fill(page.locator("#q-plan"), "b");
    await goOn(page);
    await fill(page.locator("#q-mail"), "nobody");
    await press(page, "send");
    await becomes(() => complaint.count(), 1);
    await becomes(focused, "answers.mail");
    await fill(page.locator("#q-mail"), "ada@example.com");
    await sendAll(page);
    assert.deepEqual((await world.responses(flow))[0].answers, { team: "12", plan: "b", mail: "ada@example.com" });
  });
}

test("a problem that only the server finds is shown at its question", async () => {
  const questions = [
    { id: "mail", type: "email", prompt: "Your address" },
    { id: "name", type: "shortText", prompt: "Your name" },
  ];
  const flow = await world.flow({ questions, respondentAnalytics: "never" });
  const page = await world.visit(flow.path);
  // Valid for the script, but not for the server.
  await answerAll(page, [["mail", "ada@-example-.com"], ["name", "Ada"]], { send: false });
  await press(page, "send");
  await page.locator("#q-mail .error").waitFor();
  await becomes(() => page.evaluate(() => document.activeElement.name), "answers.mail");
  await answerAll(page, [["mail", "ada@example.com"], ["name", null]]);
  assert.deepEqual((await world.responses(flow))[0].answers, { mail: "ada@example.com", name: "Ada" });
});
