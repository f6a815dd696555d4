// Users of the console: the password link, signing in and out, and every settings page, checked by axe.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { checkPage } from "./support/console.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const PASSWORD = "correct horse battery";

const world = await openWorld({ args: ["--sign-ins-per-minute", "0"] });
after(() => world.close());

const visit = (path, more = {}) => world.visit(path, { viewport: { width: 1440, height: 900 }, ...more });

let appId, respondentId, storageState;

test("a link sets a password, opens the console, and leaves the address bar immediately", async () => {
  ({ appId } = await world.server.createApp("Shop"));
  const { link } = await world.server.admin("POST", "/users", { email: "ann@mail.example", name: "Ann", role: "owner", instance: true });
  const page = await world.visit(new URL(link).pathname + new URL(link).hash);
  await becomes(() => new URL(page.url()).hash, "");
  await becomes(() => page.locator("#code").isVisible(), false, "the secret is not visible");
  await page.locator("#password").fill("short");
  await page.getByRole("button", { name: "Set password" }).click();
  await page.locator(".errors").waitFor();
  await checkPage(page, "a password that is too short");
  await page.locator("#password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set password" }).click();
  await page.getByText("Your password is set").waitFor();
  storageState = await page.context().storageState();
  const again = await world.visit(new URL(link).pathname + new URL(link).hash);
  await again.locator("#password").fill(PASSWORD);
  await again.getByRole("button", { name: "Set password" }).click();
  await matches(() => again.locator(".errors").innerText(), /works once/);
  world.takeFaults();
});

test("without JavaScript the link can be pasted", async () => {
  const { link } = await world.server.admin("POST", "/users", { email: "bob@mail.example", name: "Bob", role: "viewer", appId });
  const page = await visit("/console/welcome", { script: false });
  await page.locator("#code").fill(link);
  await page.locator("#password").fill(PASSWORD);
  await page.locator("button[type=submit]").click();
  await matches(() => page.url(), new RegExp(`/console/apps/${appId}`));
});

test("signing in returns to the requested page, and signing out ends the session", async () => {
  const page = await visit(`/console/apps/${appId}/settings/keys`);
  await page.locator("#email").fill("ann@mail.example");
  await page.locator("#password").fill("wrong password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await matches(() => page.locator(".errors").innerText(), /password is wrong/);
  await becomes(() => page.locator("#email").inputValue(), "ann@mail.example");
  await page.locator("#password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`**/console/apps/${appId}/settings/keys`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("**/console/sign-in");
  await page.goBack();
  await page.reload();
  await matches(() => page.url(), /\/console\/sign-in/);
  world.takeFaults();
});

test("every sign-in and settings page is accessible and fits", async () => {
  await fillUp();
  for (const path of ["/console/sign-in", "/console/sign-in?with=token", "/console/welcome"]) {
    const page = await visit(path);
    await checkPage(page, path);
    await page.context().close();
  }
  const page = await visit("/console/settings/apps", { storageState });
  const users = (await world.server.admin("GET", "/users")).items;
  const paths = ["", "/keys", "/identity", "/respondents", `/respondents/${respondentId}`, "/people", "/audit"]
    .map((part) => `/console/apps/${appId}/settings${part}`)
    .concat(["apps", "users", `users/${users[0].userId}`, "tokens", "audit", "account"].map((part) => `/console/settings/${part}`));
  for (const path of paths) {
    const reply = await page.goto(world.address(path));
    assert.equal(reply.status(), 200, path);
    await checkPage(page, path);
  }
  await page.goto(world.address("/console/settings/users"));
  await page.locator("#email").fill("ann@mail.example");
  await page.locator("#name").fill("Ann again");
  await page.locator("#appId").selectOption("all");
  await page.getByRole("button", { name: "Add user" }).click();
  await page.locator(".errors").waitFor();
  await checkPage(page, "an address that is taken");
  await page.context().close();
  world.takeFaults();
});

/** One of every object that the settings show. */
async function fillUp() {
  const flow = await world.server.createFlow(appId, "Feedback", { title: "Feedback", questions: [{ id: "why", type: "longText", prompt: "Why?" }] });
  await world.server.admin("POST", `/apps/${appId}/identity-keys`, { type: "hs256" });
  await world.server.admin("PATCH", `/apps/${appId}`, { identityVerification: "observe" });
  await world.server.admin("POST", "/tokens", { name: "dashboards", scopes: ["read"], appId });
  const { apiKeys } = await world.server.admin("GET", `/apps/${appId}`);
  await fetch(`${world.server.url}/api/v1/${apiKeys[0]}/trpc/response.submit`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "admitted",
      answers: { why: "Because." }, identities: [{ type: "userId", value: "user-7" }, { type: "traits.email", value: "carl@mail.example" }],
    }),
  });
  const { items } = await world.server.admin("GET", `/respondents?appId=${appId}`);
  ({ respondentId } = items[0]);
}
