// The editor of jumps, endings, scores, random order and the welcome screen.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { checkAccess, openConsole } from "./support/console.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());

const QUIZ = {
  title: "Quiz",
  questions: [
    { id: "plan", type: "singleChoice", prompt: "Which plan?", options: [{ id: "free", label: "Free" }, { id: "pro", label: "Pro" }] },
    { id: "why", type: "longText", prompt: "Why?" },
    { id: "stars", type: "rating", prompt: "How many stars?" },
  ],
};

async function edit(definition = QUIZ) {
  const { appId } = await world.server.createApp("Shop");
  const { flowId } = await world.server.createFlow(appId, "Quiz", definition, { publish: false });
  const page = await openConsole(world, `/console/flows/${flowId}/edit`);
  await page.locator(".editor[data-ready]").waitFor();
  return { page, flowId };
}

const draftOf = async (flowId) => (await world.server.admin("GET", `/flows/${flowId}/draft`)).definition;
const item = (page, at) => page.locator(".item").nth(at);
const open = (page, at) => item(page, at).locator(".open").click();
const at = (page, pointer) => page.locator(`[data-pointer="${pointer}"]`);

test("jumps are edited as sentences, and follow a renamed question", async () => {
  const { page, flowId } = await edit();
  const jumps = item(page, 0).locator(".jumps");
  await jumps.getByRole("button", { name: "+ Jump" }).click();
  await becomes(async () => (await draftOf(flowId)).questions[0].next, [{ to: "why" }]);
  await jumps.getByLabel("Jump 1: where to").selectOption("stars");
  await jumps.getByLabel("When").selectOption("if");
  await jumps.getByLabel("Value").selectOption("pro");
  await becomes(async () => (await draftOf(flowId)).questions[0].next, [{ to: "stars", when: { question: "plan", equals: "pro" } }]);
  await becomes(() => jumps.locator("> .sentence").innerText(), "After this question: go to “How many stars?” if “Which plan?” is “Pro”.");
  await checkAccess(page);
  await open(page, 2);
  await item(page, 2).getByText("Type and ID").click();
  await at(page, "/questions/2/id").fill("rate");
  await at(page, "/questions/2/id").press("Tab");
  await becomes(async () => (await draftOf(flowId)).questions[0].next[0].to, "rate");
  await open(page, 0);
  await item(page, 0).getByRole("button", { name: "Remove jump 1" }).click();
  await becomes(async () => (await draftOf(flowId)).questions[0].next, undefined);
});

test("options have scores, and conditions of endings read the score", async () => {
  const { page, flowId } = await edit();
  await item(page, 0).getByRole("button", { name: "Show scores" }).click();
  await page.getByLabel("Score of option 2").fill("2.5");
  await becomes(async () => (await draftOf(flowId)).questions[0].options[1], { id: "pro", label: "Pro", score: 2.5 });
  await item(page, 0).getByLabel("Order of options").selectOption("random");
  await item(page, 0).getByLabel("Keep place").first().check();
  await becomes(async () => (await draftOf(flowId)).questions[0].options[0], { id: "free", label: "Free", fixed: true });
  await page.locator("[data-shows-section=texts]").click();
  await page.getByLabel("Welcome title").fill("Hello");
  await page.getByRole("button", { name: "+ Ending" }).click();
  await at(page, "/endings/0/title").fill("Well done, {{score}} points");
  const ending = page.locator("[data-pointer='/endings/0']");
  await ending.getByLabel("Show this ending").selectOption("if");
  await ending.getByLabel("Question", { exact: true }).selectOption("#score");
  await ending.getByLabel("Value").fill("2");
  await becomes(() => ending.locator(".sentence").innerText(), "Shown if the score is more than 2.");
  await becomes(async () => (await draftOf(flowId)).endings, [{ id: "ending", title: "Well done, {{score}} points", when: { score: true, greaterThan: 2 } }]);
  await becomes(async () => (await draftOf(flowId)).welcome, { title: "Hello" });
  await checkAccess(page);
  await world.server.admin("POST", `/flows/${flowId}/publish`);
  const published = (await world.server.admin("GET", `/flows/${flowId}/versions`)).items;
  assert.equal(published.length, 1);
});

test("a draft that jumps backwards cannot be published, and says where", async () => {
  const questions = structuredClone(QUIZ.questions);
  questions[2].next = [{ to: "plan" }];
  questions[1].prompt = "Why {{answer:stars}}?";
  const { page } = await edit({ ...QUIZ, questions });
  await matches(async () => (await page.locator("#faults li").allInnerTexts()).join("\n"), /must be a later question; this one comes earlier/);
});
