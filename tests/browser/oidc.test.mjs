// Signing in to the console through a real OpenID provider, through its own pages in Chromium.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { CLIENT_ID, CLIENT_SECRET, startProvider } from "./support/provider.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

for (const [where, more] of [["userinfo", {}], ["the ID token", { conformIdTokenClaims: false }]]) {
  test(`with the address in ${where}`, async (t) => {
    let world, provider, appId;
    const addresses = { ann: "Ann@Mail.example", stranger: "stranger@mail.example", unverified: "bob@mail.example" };

    before(async () => {
      provider = await startProvider();
      world = await openWorld({
        args: ["--oidc-issuer", provider.issuer, "--oidc-client-id", CLIENT_ID, "--oidc-button", "Sign in with Acme",
          "--sign-ins-per-minute", "0"],
        env: { SLUICE_OIDC_CLIENT_SECRET: CLIENT_SECRET },
      });
      const claimsOf = (id) => ({ email: addresses[id], email_verified: id !== "unverified", name: id });
      provider.serve(`${world.server.url}/console/oidc/callback`, claimsOf, more);
      world.hosts.add(provider.issuer).add("https://fonts.googleapis.com");
      ({ appId } = await world.server.createApp("Shop"));
      for (const email of ["ann@mail.example", "bob@mail.example"]) {
        await world.server.admin("POST", "/users", { email, name: email, role: "viewer", appId });
      }
    });
    after(async () => {
      await world.close();
      await provider.stop();
    });

    async function toProvider(page) {
      await page.getByRole("link", { name: "Sign in with Acme" }).click();
      await page.waitForURL((url) => url.origin === provider.issuer);
    }

    /** Signs in through the provider's pages as an account; ends at the console's reply. */
    async function through(page, login) {
      await toProvider(page);
      await page.locator("input[name=login]").fill(login);
      await page.locator("input[name=password]").fill("anything");
      await page.locator("button[type=submit]").click();
      // The provider asks once for consent.
      await page.locator("input[name=prompt][value=consent]").waitFor({ state: "attached" });
      const back = page.waitForURL((url) => url.origin === new URL(world.server.url).origin);
      await page.locator("button[type=submit]").click();
      await back;
    }

    await t.test("a user reaches the requested page, and is then matched by subject, not only by address", async () => {
      const page = await world.visit(`/console/apps/${appId}?x=y`);
      await matches(() => page.url(), /\/console\/sign-in\?to=/);
      let callback;
      page.on("request", (request) => {
        if (request.url().includes("/console/oidc/callback?")) callback = request.url();
      });
      await through(page, "ann");
      await becomes(() => page.url(), world.address(`/console/apps/${appId}?x=y`));
      const cookies = await page.context().cookies(world.server.url);
      const session = cookies.find(({ name }) => name === "__Host-sluice");
      assert.ok(session.secure && session.httpOnly && session.sameSite === "Lax");
      assert.ok(!cookies.some(({ name }) => name === "__Host-sluice-oidc"), "the cookie of the request must be removed");
      const { items } = await world.server.admin("GET", "/users");
      assert.equal(items.find(({ email }) => email === "ann@mail.example").hasOpenId, true);

      // Her address changes at the provider, and another account gets it: she keeps her account.
      addresses.stranger = "ann@mail.example";
      addresses.ann = "ann.lee@mail.example";
      const again = await world.visit("/console/sign-in");
      await through(again, "ann");
      await becomes(() => again.url(), world.address(`/console/apps/${appId}`));
      const taken = await world.visit("/console/sign-in");
      await through(taken, "stranger");
      await matches(() => taken.locator("main").innerText(), /no access to this console|Ask an owner/);
      addresses.stranger = "stranger@mail.example";

      // The reply cannot be used a second time, neither here nor in another browser.
      const elsewhere = await world.visit(callback);
      await matches(() => elsewhere.locator("main").innerText(), /started in another browser/);
      const replayed = await world.visit("/console/sign-in");
      await toProvider(replayed);
      const state = (await replayed.context().cookies(world.server.url))
        .find(({ name }) => name === "__Host-sluice-oidc").value.split(".")[0];
      const used = new URL(callback);
      used.searchParams.set("state", state);
      await replayed.goto(used.href);
      await matches(() => replayed.locator("main").innerText(), /refused the sign-in/);
      world.takeFaults();
    });

    await t.test("actions that need a recent sign-in ask the provider to sign in again, and the provider reports the time", async () => {
      const page = await world.visit("/console/sign-in");
      await through(page, "ann");
      // The provider reports the sign-in time only on request.
      await page.goto(world.address("/console/settings/account/second-factor"));
      await matches(() => page.url(), /\/console\/confirm/);
      await toProvider(page);
      await page.locator("input[name=login]").fill("ann");
      await page.locator("input[name=password]").fill("anything");
      await page.locator("button[type=submit]").click();
      await page.waitForURL("**/console/settings/account/second-factor");
      await page.getByRole("img", { name: "QR code for the authenticator app" }).waitFor();
    });

    await t.test("a reply to another request is refused", async () => {
      const page = await world.visit("/console/sign-in");
      await toProvider(page);
      await page.goto(world.address("/console/oidc/callback?code=x&state=wrong"));
      await matches(() => page.locator("main").innerText(), /started in another browser/);
      const cookies = await page.context().cookies(world.server.url);
      assert.ok(!cookies.some(({ name }) => name === "__Host-sluice"));
      world.takeFaults();
    });

    await t.test("an unknown user learns whom to ask, and an unverified address is reported", async () => {
      const stranger = await world.visit("/console/sign-in");
      await through(stranger, "stranger");
      await matches(() => stranger.locator("main").innerText(), /stranger@mail\.example[^]*Ask an owner/);
      const unverified = await world.visit("/console/sign-in");
      await through(unverified, "unverified");
      await matches(() => unverified.locator("main").innerText(), /verified/);
      world.takeFaults();
    });

    await t.test("a user who cancels at the provider is not signed in", async () => {
      const page = await world.visit("/console/sign-in");
      await toProvider(page);
      const back = page.waitForURL((url) => url.origin === new URL(world.server.url).origin);
      await page.getByRole("link", { name: /cancel/i }).click();
      await back;
      await matches(() => page.locator("main").innerText(), /refused the sign-in/);
      world.takeFaults();
    });
  });
}
