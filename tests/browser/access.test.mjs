// axe-core reports no violations: every question type, every state, both themes, both sizes.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { checkPage } from "./support/console.mjs";
import { ASKING, EVERY_TYPE, logo, SHORT } from "./support/flows.mjs";
import { fill, goOn, answerAll } from "./support/answering.mjs";
import { becomes } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld({ args: ["--hosted-sends-per-minute", "1"] });
after(() => world.close());

test("every question type, with and without an error", async () => {
  const flow = await world.flow({ questions: EVERY_TYPE.map(([question]) => question), description: "Words at the start." });
  const page = await world.visit(flow.path);
  for (const [at, [question, answer]] of EVERY_TYPE.entries()) {
    await page.locator(`#q-${question.id}`).waitFor();
    if (question.required) {
      await page.locator(".primary").click();
      await page.locator(`#q-${question.id} .error`).waitFor();
      await checkPage(page, `${question.id} with an error`);
    }
    await fill(page.locator(`#q-${question.id}`), answer);
    await checkPage(page, `${question.id} answered`);
    if (at < EVERY_TYPE.length - 1) await goOn(page);
  }
});

test("the server-rendered form, without JavaScript", async () => {
  const flow = await world.flow({ questions: EVERY_TYPE.map(([question]) => question) });
  const page = await world.visit("/healthz");
  await page.route("**/f/assets/*", (route) => route.abort());
  await page.goto(world.address(flow.path));
  for (const [at, [question, answer]] of EVERY_TYPE.entries()) {
    await page.locator(`#q-${question.id}`).waitFor();
    await fill(page.locator(`#q-${question.id}`), answer);
    await checkPage(page, `${question.id} answered`);
    if (at < EVERY_TYPE.length - 1) await goOn(page);
  }
});

test("right to left, with a logo and an accent colour", async () => {
  const hosted = { accentColor: "#ffd400", logo: logo() };
  const flow = await world.flow({ ...SHORT, defaultLocale: "ar", title: "رأيك" }, { app: { hosted } });
  const page = await world.visit(flow.path);
  await becomes(() => page.evaluate(() => document.documentElement.dir), "rtl");
  await checkPage(page, "right to left");
  await answerAll(page, [["nps", "3"], ["why", "لأن"], ["name", "Ada"]], { send: false });
  await checkPage(page, "right to left, last step");
});

test("every state", async () => {
  const flow = await world.flow(ASKING);
  const known = `${flow.path}?identities.userId=ada`;
  const day = 86_400_000;
  const window = (liveWindow) => world.server.admin("PATCH", `/flows/${flow.flowId}`, { liveWindow });
  const visit = async (path, state) => {
    const page = await world.visit(path);
    await page.locator(`main[data-state=${state}]`).waitFor();
    await checkPage(page, state);
    return page;
  };
  await visit(`${flow.path}?tags.plan=${"x".repeat(600)}`, "asking");
  const page = await visit(known, "asking");
  await page.context().setOffline(true);
  await page.locator(".actions [value=send]").click();
  await page.locator(".notice.live").waitFor();
  await checkPage(page, "offline");
  await page.context().setOffline(false);
  await page.locator("main[data-state=stored], .notice:not(.live)").waitFor();
  await checkPage(page, "stored, or too many");
  await visit(`${flow.path}/done?version=${flow.flowVersionId}&linked=1`, "stored");
  const identities = [{ type: "traits.email", value: "ada@mail.example" }];
  const invited = await world.server.admin("POST", `/flows/${flow.flowId}/invitations`, { identities });
  await visit(`${flow.path}?flowAssignmentId=${invited.flowAssignmentId}`, "asking");
  await world.server.admin("DELETE", `/invitations/${invited.flowAssignmentId}`);
  await visit(`${flow.path}?flowAssignmentId=${invited.flowAssignmentId}`, "invitation-revoked");
  await window({ startsAt: new Date(Date.now() + day).toISOString(), endsAt: null });
  await visit(flow.path, "scheduled");
  await window({ startsAt: null, endsAt: new Date(Date.now() - day).toISOString() });
  await visit(flow.path, "closed");
  await visit("/f/fl_0000000000000000000000", "missing");
  await world.server.admin("POST", `/apps/${flow.appId}/identity-keys`, { type: "hs256" });
  await world.server.admin("PATCH", `/apps/${flow.appId}`, { identityVerification: "enforce" });
  await visit(flow.path, "token");
});

test("a form that was already answered, and one whose version has changed", async () => {
  // A server that accepts more than one form per minute.
  const other = await openWorld();
  const answers = [["nps", "9"], ["name", "Ada"]];
  const send = (page) => page.locator(".actions [value=send]").click();
  try {
    const flow = await other.flow(SHORT);
    await other.server.admin("PATCH", `/flows/${flow.flowId}`, { graceWindowSeconds: 0 });
    const page = await other.visit(flow.path);
    const key = await page.locator("[name=key]").inputValue();
    await answerAll(page, answers);
    const again = await other.visit(flow.path);
    await again.locator("[name=key]").evaluate((field, value) => (field.value = value), key);
    await answerAll(again, [["nps", "10"], ["name", "Bob"]], { send: false });
    await send(again);
    await again.locator("main[data-state=answered]").waitFor();
    await checkPage(again, "answered");
    const late = await other.visit(flow.path);
    await answerAll(late, answers, { send: false });
    await other.publish(flow, { ...SHORT, title: "Another" });
    await send(late);
    await late.locator(".notice").waitFor();
    await checkPage(late, "another version");
  } finally {
    await other.close();
  }
});

test("too many sends from one address: the form keeps its answers and shows when to try again", async () => {
  const flow = await world.flow(SHORT);
  // All are filled in before the first is sent, so that the second follows within its minute.
  const pages = await Promise.all([true, false].map((script) => world.visit(flow.path, { script })));
  for (const page of pages) await answerAll(page, [["nps", "9"], ["name", "Ada"]], { send: false });
  for (const page of pages) {
    await page.locator(".actions [value=send]").click();
    const notice = page.locator(".notice");
    await page.locator(".notice, main[data-state=stored]").first().waitFor();
    if ((await notice.count()) === 0) continue;
    await becomes(() => page.locator("#q-name .text").inputValue(), "Ada");
    return;
  }
  assert.fail("no page asked the sender to wait");
});
