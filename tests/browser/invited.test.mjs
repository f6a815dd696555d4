// A personal link: marked as opened by a person and not by a mail scanner, and used once.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { SHORT } from "./support/flows.mjs";
import { answerAll } from "./support/answering.mjs";
import { becomes } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());

async function invite() {
  const flow = await world.flow(SHORT);
  const person = { identities: [{ type: "traits.email", value: "ada@example.com" }] };
  const { flowAssignmentId } = await world.server.admin("POST", `/flows/${flow.flowId}/invitations`, person);
  const state = async () => (await world.server.admin("GET", `/invitations/${flowAssignmentId}`)).state;
  return { flow, state, path: `${flow.path}?flowAssignmentId=${flowAssignmentId}` };
}

for (const script of [true, false]) {
  test(`an invitation is opened, then used, then completed (${script ? "with" : "without"} script)`, async () => {
    const { flow, state, path } = await invite();
    await fetch(world.address(path));
    assert.equal(await state(), "sent", "fetching the page must not change the state");
    const page = await world.visit(path, { script });
    if (script) await page.waitForLoadState("networkidle");
    await answerAll(page, [["nps", "9"], ["name", "Ada"]], { send: false });
    await becomes(() => state(), "opened");
    await page.locator(".actions [value=send]").click();
    await page.locator("main[data-state=stored]").waitFor();
    await becomes(() => state(), "completed");
    const again = await world.visit(path, { script });
    await again.locator("main[data-state=invitation-used] h1").waitFor();
    assert.equal((await world.responses(flow)).length, 1);
  });
}
