// User input never runs as a script: every text contains one, and the test opens every linked page of the console and searches
// for it. The world records each violation of a page's policy as a fault.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { openWorld } from "./support/world.mjs";

const SCRIPT = `"'></title></textarea><script>window.pwned = 1</script><img src="x" onerror="window.pwned = 1">{{7*7}}`;
/** For fields that allow no spaces. */
const WORD = `"'><img/src="x"/onerror="window.pwned=1">`;
const PAGES_MAX = 400;
/** Pages that differ only in the values of their parameters: more of them if the values are user input. */
const ALIKE_MAX = 2;
const ALIKE_WITH_INPUT_MAX = 6;

const world = await openWorld({ args: ["--sign-ins-per-minute", "0"] });
after(() => world.close());

test("no user input runs as a script on any page of the console", async () => {
  const { flowId } = await fillUp();
  const { link } = await world.server.admin("POST", "/users", { email: "ann@mail.example", name: SCRIPT, role: "owner", instance: true });
  const page = await world.visit(new URL(link).pathname + new URL(link).hash);
  page.on("dialog", (dialog) => { world.faults.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  await page.locator("#password").fill("correct horse battery");
  await page.getByRole("button", { name: "Set password" }).click();
  await page.waitForURL(/\/console\/apps/);

  const seen = new Set();
  const alike = new Map();
  const queue = ["/console", "/console/settings/apps", "/console/settings/users", "/console/settings/tokens", "/console/settings/audit",
    "/console/settings/account", ...["edit", "share", "responses", "results", "history"].map((tab) => `/console/flows/${flowId}/${tab}`)];
  let shown = 0;
  while (queue.length > 0) {
    const path = queue.shift();
    if (seen.has(path)) continue;
    seen.add(path);
    assert.ok(seen.size <= PAGES_MAX, "too many pages");
    const reply = await page.goto(world.address(path)).catch((error) => {
      // A download, not a page.
      if (/Download is starting/.test(String(error))) return null;
      throw error;
    });
    if (!reply || !/text\/html/.test(reply.headers()["content-type"] ?? "")) continue;
    assert.ok(reply.status() < 400, `${path}: ${reply.status()}`);
    await page.waitForLoadState("load");
    const found = await page.evaluate(() => ({
      pwned: window.pwned, planted: document.querySelectorAll('img[src="x"], script:not([src])').length,
      handlers: [...document.querySelectorAll("*")].some((element) => [...element.attributes].some(({ name }) => /^on/.test(name))),
      has: document.documentElement.outerHTML.includes("pwned"),
      links: [...document.querySelectorAll("a[href]")].map((link) => link.href),
    }));
    assert.equal(found.pwned, undefined, `${path} ran a script`);
    assert.equal(found.planted, 0, `${path} has an element from user input`);
    assert.equal(found.handlers, false, `${path} has a handler in an attribute`);
    shown += found.has ? 1 : 0;
    for (const href of found.links) {
      const url = new URL(href);
      if (url.origin !== new URL(world.server.url).origin || !url.pathname.startsWith("/console")) continue;
      const path = shortened(url);
      if (!seen.has(path) && !queue.includes(path) && isWanted(alike, url)) queue.push(path);
    }
  }
  assert.ok(shown > 15, `only ${shown} of ${seen.size} pages showed the user input`);
  // Replies of 4xx or 5xx are not recorded; all other faults would be here.
  assert.deepEqual(world.takeFaults(), []);
});

/** A page is visited once, whatever its `done` parameter is. */
function shortened(url) {
  url.searchParams.delete("done");
  return url.pathname + url.search;
}

/** Whether there were few pages with this path and these parameters. */
function isWanted(alike, url) {
  if (!url.search) return true;
  const hasInput = decodeURIComponent(url.search).includes("pwned");
  const kind = [url.pathname, hasInput, ...new Set(url.searchParams.keys())].join(" ");
  const count = (alike.get(kind) ?? 0) + 1;
  alike.set(kind, count);
  return count <= (hasInput ? ALIKE_WITH_INPUT_MAX : ALIKE_MAX);
}

/** An app in which every possible text is a script. */
async function fillUp() {
  const { appId, base } = await world.server.createApp(SCRIPT);
  const option = (id) => ({ id, label: SCRIPT });
  const definition = {
    title: SCRIPT, description: SCRIPT,
    questions: [
      { id: "nps", type: "nps", prompt: SCRIPT, help: SCRIPT, lowLabel: SCRIPT, highLabel: SCRIPT },
      { id: "why", type: "longText", prompt: SCRIPT },
      { id: "one", type: "singleChoice", prompt: SCRIPT, options: [option("a"), option("b")], allowOther: true },
      { id: "many", type: "multipleChoice", prompt: SCRIPT, options: [option("a"), option("b")], allowOther: true },
      { id: "order", type: "ranking", prompt: SCRIPT, options: [option("a"), option("b")] },
      { id: "grid", type: "matrix", prompt: SCRIPT, rows: [option("r")], columns: [option("c")] },
      { id: "said", type: "statement", prompt: SCRIPT },
    ],
    ending: { title: SCRIPT, body: SCRIPT },
  };
  const flow = await world.server.createFlow(appId, SCRIPT, definition);
  await world.server.admin("PUT", `/flows/${flow.flowId}/draft`, { ...definition, title: `${SCRIPT} 2` });
  await world.server.admin("POST", `/flows/${flow.flowId}/invitations`, { identities: [{ type: "userId", value: SCRIPT }] });
  await world.server.admin("POST", `/apps/${appId}/identity-keys`, { type: "hs256", kid: WORD, issuer: SCRIPT });
  await world.server.admin("PATCH", `/apps/${appId}`, { identityVerification: "observe" });
  await world.server.admin("POST", "/tokens", { name: SCRIPT, scopes: ["read"], appId });
  await world.server.admin("POST", "/users", { email: "bob@mail.example", name: SCRIPT, role: "viewer", appId });
  for (const admission of ["admitted", "collection_only"]) {
    const reply = await fetch(`${base}/trpc/response.submit`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: admission,
        answers: { nps: "9", why: SCRIPT, one: `other:${SCRIPT}`, many: ["a", `other:${SCRIPT}`], order: ["a", "b"], grid: ["r:c"] },
        identities: [{ type: "userId", value: SCRIPT }],
        metadata: { tags: { [SCRIPT.slice(0, 60)]: SCRIPT, plan: [SCRIPT, WORD] } },
        context: { page: { path: SCRIPT, referrer: SCRIPT, search: `?${SCRIPT}` }, userAgent: SCRIPT },
        flowAssignmentId: SCRIPT,
      }),
    });
    const { result } = await reply.json();
    assert.equal(result.data.success, true, JSON.stringify(result));
  }
  return flow;
}
