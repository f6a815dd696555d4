// Rare pages of the console: confirmations, refusals and errors. Each is accessible and fits.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startServer } from "../clients/server.mjs";
import { atDesk, checkPage } from "./support/console.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const LUNCH = { title: "Lunch", questions: [{ id: "taste", type: "rating", prompt: "How was it?" }] };
const FAULTY = { title: "Lunch", questions: [{ id: "taste", type: "rating", prompt: "" }, { id: "taste", type: "rating" }] };

const world = await openWorld({ args: ["--sign-ins-per-minute", "0"] });
// One attempt per minute, and a provider that does not respond.
const strict = await startServer({ args: ["--sign-ins-per-minute", "1"] });
const alone = await startServer({
  args: ["--oidc-issuer", "http://127.0.0.1:9", "--oidc-client-id", "sluice", "--sign-ins-per-minute", "0"],
  env: { SLUICE_OIDC_CLIENT_SECRET: "secret" },
});
for (const { url } of [strict, alone]) world.hosts.add(new URL(url).origin);
after(async () => {
  await world.close();
  await strict.stop();
  await alone.stop();
});

let desk, guest, appId, flow, faulty, archived;

before(async () => {
  ({ appId } = await world.server.createApp("Shop"));
  const made = (name, definition, more) => world.server.createFlow(appId, name, definition, more).then(({ flowId }) => flowId);
  flow = await made("Lunch", LUNCH);
  faulty = await made("Faulty", FAULTY, { publish: false });
  archived = await made("Old", LUNCH);
  await world.server.admin("DELETE", `/flows/${archived}`);
  desk = await atDesk(world);
  const { token } = await world.server.admin("POST", "/tokens", { name: "Guest", scopes: ["read"], appId });
  guest = await signedIn(token);
});

/** A browser context that is signed in with this token. */
async function signedIn(token) {
  const page = await world.visit("/console/sign-in?with=token");
  await post(page, "/console/sign-in", { token });
  const storageState = await page.context().storageState();
  await page.context().close();
  return { open: (path) => desk.open(path, { storageState }) };
}

/** Sends a form from the page, and returns the status of the resulting page. */
async function post(page, path, fields) {
  const [reply] = await Promise.all([
    page.waitForNavigation(),
    page.evaluate(([action, pairs]) => {
      const form = Object.assign(document.createElement("form"), { method: "post", action });
      for (const [name, value] of pairs) form.append(Object.assign(document.createElement("input"), { name, value }));
      document.body.append(form);
      form.submit();
    }, [path, Object.entries(fields)]),
  ]);
  return reply.status();
}

const at = (flowId, part) => `/console/flows/${flowId}/${part}`;

/** Opens a page and checks its status. */
const opened = (who, path, status) => async () => {
  const page = await who().open("/console");
  assert.equal((await page.goto(world.address(path))).status(), status, path);
  return page;
};

/** The reply to a form. */
const sent = (from, path, fields, status) => async () => {
  const page = await desk.open(from());
  assert.equal(await post(page, path(), await fields(page)), status, path());
  return page;
};

const PAGES = {
  "the confirmation before a flow is archived": () => opened(() => desk, at(flow, "archive"), 200)(),
  "a page without permission": opened(() => guest, "/console/settings/users", 403),
  "a missing page": opened(() => desk, "/console/nothing", 404),
  "a missing flow": opened(() => desk, "/console/flows/fl_nothing/edit", 404),
  "a change of an archived flow": sent(
    () => at(flow, "edit"), () => at(archived, "schedule"), () => ({ name: "New", startsAt: "", endsAt: "", grace: "inherited" }), 409),
  "a draft that someone else saved in the meantime": sent(
    () => at(flow, "edit"), () => at(flow, "edit"), () => ({ tag: "old", definition: JSON.stringify(LUNCH) }), 422),
  "not published: changed since the review": sent(() => at(flow, "edit"), () => at(flow, "publish"), () => ({ tag: "old" }), 409),
  "not published: problems to fix": sent(
    () => at(faulty, "edit"), () => at(faulty, "publish"), async (page) => ({ tag: await page.locator("#editor").getAttribute("data-tag") }), 422),
  "an invalid schedule": sent(
    () => at(flow, "edit"), () => at(flow, "schedule"), () => ({ name: "", startsAt: "soon", endsAt: "?", grace: "own", amount: "", unit: "days" }), 422),
  "too many attempts to sign in": async () => {
    const page = await world.visit(`${strict.url}/console/sign-in`);
    const wrong = { email: "ann@mail.example", password: "wrong password" };
    await post(page, "/console/sign-in", wrong);
    assert.equal(await post(page, "/console/sign-in", wrong), 429);
    return page;
  },
  "a provider that does not respond": async () => {
    const page = await world.visit(`${alone.url}/console/sign-in`);
    assert.equal((await page.goto(`${alone.url}/console/oidc`)).status(), 503);
    return page;
  },
  "an unrequested reply of a provider": async () => {
    const page = await world.visit(`${alone.url}/console/sign-in`);
    assert.equal((await page.goto(`${alone.url}/console/oidc/callback?error=access_denied&state=x`)).status(), 422);
    return page;
  },
  "the preview of a template": async () => {
    const page = await desk.open(`/console/apps/${appId}/new`);
    await page.getByRole("link", { name: "Preview Customer satisfaction" }).click();
    await page.locator("dialog.showing[open]").waitFor();
    await page.frameLocator("dialog.showing iframe").locator("main").waitFor();
    return page;
  },
};

for (const [what, open] of Object.entries(PAGES)) {
  test(`${what} is accessible and fits`, async () => {
    const page = await open();
    await checkPage(page, what);
    await page.context().close();
  });
}

test("an invalid schedule shows the problems at its fields, in the reader's time zone", async () => {
  const page = await desk.open(at(flow, "edit"));
  await page.locator("[data-shows-section=schedule]").click();
  await page.locator("#startsAt").fill("2030-07-01T12:00");
  await page.locator("#endsAt").fill("2030-06-01T12:00");
  await page.locator("#endsAt").blur();
  await page.locator("#saving[data-state=invalid]").waitFor();
  await becomes(() => page.locator("#endsAt").getAttribute("aria-invalid"), "true");
  await matches(() => page.locator("#endsAt-error").innerText(), /^Must be after the start\.$/);
  await becomes(() => page.locator("#startsAt").inputValue(), "2030-07-01T12:00");
  await becomes(() => page.locator("[data-utc]").innerText(), "Europe/Berlin");
  await page.context().close();
});

test("an unchanged window is not moved by an hour that occurs twice", async () => {
  // In Berlin both are 2:30 on the night when the clocks go back.
  for (const [name, startsAt] of [["First", "2030-10-27T00:30:15.000Z"], ["Second", "2030-10-27T01:30:15.000Z"]]) {
    await world.server.admin("PATCH", `/flows/${flow}`, { liveWindow: { startsAt, endsAt: null } });
    const page = await desk.open(at(flow, "edit"));
    await page.locator("[data-shows-section=schedule]").click();
    await becomes(() => page.locator("#startsAt").inputValue(), "2030-10-27T02:30");
    await page.locator("#name").fill(name);
    const stored = page.waitForResponse((reply) => reply.url().endsWith("/schedule"));
    await page.locator("#name").press("Tab");
    await stored;
    const saved = await world.server.admin("GET", `/flows/${flow}`);
    assert.deepEqual([saved.name, saved.liveWindow.startsAt], [name, startsAt]);
    await page.context().close();
  }
});
