// Parameters in the page's address reach the response, and never cause a refusal.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { ASKING, SHORT } from "./support/flows.mjs";
import { answerAll } from "./support/answering.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld, WAYS } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());

for (const way of WAYS) {
  test(`tags, locale and page of the address are stored (${way})`, async () => {
    const flow = await world.flow(SHORT);
    const query = "metadata.tags.plan=pro&tags.team=a&tags.team=b&context.locale=de_at";
    const page = await world.visit(`${flow.path}?${query}`, way);
    await answerAll(page, [["nps", "9"], ["name", "Ada"]]);
    const [{ metadata, context }] = await world.responses(flow);
    assert.deepEqual(metadata.tags, { plan: "pro", team: ["a", "b"] });
    assert.equal(context.locale, "de-AT");
    assert.equal(context.page.path, flow.path);
    assert.match(context.userAgent, /Chrom/);
  });

  test(`an invalid parameter is named in a notice, and the answers are stored (${way})`, async () => {
    const flow = await world.flow(SHORT);
    const page = await world.visit(`${flow.path}?tags.plan=${"x".repeat(600)}&tags.team=a`, way);
    await matches(() => page.locator(".notice").innerText(), /plan/);
    await answerAll(page, [["nps", "9"], ["name", "Ada"]]);
    const [{ answers, metadata }] = await world.responses(flow);
    assert.deepEqual(answers, { nps: "9", name: "Ada" });
    assert.deepEqual(metadata.tags, { team: "a" });
  });

  for (const [ticked, expected] of [[false, "collection_only"], [true, "admitted"]]) {
    test(`the box, ${ticked ? "ticked" : "not ticked"}, means ${expected} (${way})`, async () => {
      const flow = await world.flow(ASKING);
      const page = await world.visit(`${flow.path}?identities.userId=ada`, way);
      const box = page.locator("[name=analytics]");
      await becomes(() => box.isChecked(), false);
      if (ticked) await page.locator(".consent label").click();
      await answerAll(page, [["nps", "9"]]);
      const [{ respondentAnalyticsAdmission, identities }] = await world.responses(flow);
      assert.equal(respondentAnalyticsAdmission, expected);
      assert.deepEqual(identities, ticked ? [{ type: "userId", value: "ada", verified: false }] : []);
    });
  }
}
