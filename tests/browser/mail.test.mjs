// E-mail in the console and for recipients: invitations, reminders, bounces, unsubscribing, password links, notices.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { header, startMailServer } from "../clients/smtp.mjs";
import { APPEARANCES, checkAccess, checkFits } from "./support/console.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const PASSWORD = "correct horse battery";
const SHOTS = process.env.SLUICE_SHOTS;

const mail = await startMailServer("none");
after(() => mail.stop());
const world = await openWorld({
  args: ["--smtp-url", `smtp://localhost:${mail.port}?tls=none`, "--mail-from", "Acme <mail@acme.example>",
    "--public-url", "https://feedback.example", "--sign-ins-per-minute", "0", "--hosted-sends-per-minute", "0"],
});
after(() => world.close());

async function assertGood(page, what) {
  await checkAccess(page, what);
  await checkFits(page, what);
  if (SHOTS) await page.screenshot({ path: `${SHOTS}/${what.replaceAll(/[^a-z0-9]+/gi, "-")}.png`, fullPage: true });
}

const local = (address) => { const { pathname, search, hash } = new URL(address); return pathname + search + hash; };
const visit = (path, { width = 1440, ...more } = {}) =>
  world.visit(path, { size: width < 500 ? "phone" : "desktop", viewport: { width, height: 900 }, ...more });

const { appId } = await world.server.createApp("Hotel Belvedere");
const { flowId } = await world.server.createFlow(appId, "Your stay", { title: "Your stay", questions: [{ id: "nps", type: "nps", prompt: "How likely?" }] });
const share = `/console/flows/${flowId}/share`;
let storageState;

test("a new user gets the link by e-mail and signs in", async () => {
  await world.server.admin("POST", "/users", { email: "ann@mail.example", name: "Ann", role: "owner", instance: true, sendEmail: true });
  const found = await mail.mailTo("ann@mail.example");
  const page = await visit(local(/http\S+welcome#\S+/.exec(found.text)[0]));
  await page.locator("#password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set password" }).click();
  await page.getByText("Your password is set").waitFor();
  storageState = await page.context().storageState();
});

test("a user who forgot their password asks for a link", async () => {
  for (const appearance of APPEARANCES) {
    const page = await visit("/console/sign-in", appearance);
    await assertGood(page, `sign-in ${appearance.theme} ${appearance.width}`);
    await page.getByRole("link", { name: "Forgot your password?" }).click();
    await assertGood(page, `forgotten ${appearance.theme} ${appearance.width}`);
    await page.locator("#email").fill("ann@mail.example");
    await page.getByRole("button", { name: "Send link" }).click();
    await page.getByText("If this address belongs to an account").waitFor();
    await assertGood(page, `forgotten sent ${appearance.theme} ${appearance.width}`);
  }
  assert.equal(header(await mail.mailTo("ann@mail.example"), "Subject"), "Reset your password");
});

test("an author writes the e-mail, invites people, and sees what became of it", async () => {
  const page = await visit(share, { storageState });
  await page.getByText("E-mail text and reminders").click();
  await page.locator("#subject").fill("How was your stay?");
  await page.locator("#text").fill("Dear guest,\n\nit takes **two minutes**.");
  await page.locator("#reminders").fill("2");
  await assertGood(page, "the form of the e-mail");
  await page.locator("#invitation-email").getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await page.locator("#people").fill("ada@mail.example\nbounce@mail.example");
  await page.getByLabel("Send each of them their link by e-mail").check();
  await page.getByRole("button", { name: "Create invitations" }).click();
  await page.getByText("The e-mails are on their way").waitFor();
  const found = await mail.mailTo("ada@mail.example");
  assert.equal(header(found, "Subject"), "How was your stay?");
  await becomes(async () => (await page.reload(), page.getByText("Bounced").count()), 1);
  await matches(() => page.locator("#invitations").locator("..").locator("..").innerText(), /Reminder/);
  for (const appearance of APPEARANCES) {
    const shown = await visit(share, { storageState, ...appearance });
    await assertGood(shown, `invitations ${appearance.theme} ${appearance.width}`);
  }
  // The link in the e-mail opens the form.
  const form = await visit(local(/http\S+flowAssignmentId=\S+/.exec(found.text)[0]));
  await form.getByText("How likely?").waitFor();
});

test("a recipient unsubscribes, with and without JavaScript, and the page says what that means", async () => {
  for (const [script, address] of [[true, "bea@mail.example"], [false, "cai@mail.example"]]) {
    await world.server.admin("POST", `/flows/${flowId}/invitations?sendEmail=true`, { identities: [{ type: "traits.email", value: address }] });
    const found = await mail.mailTo(address);
    const leave = local(/<(http[^>]+)>/.exec(header(found, "List-Unsubscribe"))[1]);
    for (const appearance of APPEARANCES) {
      const page = await visit(leave, { script, ...appearance });
      if (script) await assertGood(page, `unsubscribe ${appearance.theme} ${appearance.width}`);
    }
    const page = await visit(leave, { script });
    await page.getByText("Hotel Belvedere will no longer send e-mail to your address").waitFor();
    await page.getByRole("button", { name: "Unsubscribe" }).click();
    await page.getByText("You are unsubscribed").waitFor();
    if (script) await assertGood(page, "unsubscribed");
    const { items } = await world.server.admin("GET", `/flows/${flowId}/invitations`);
    const one = items.find(({ identities }) => identities.some(({ value }) => value === address));
    assert.equal(one.email.ended, "unsubscribed");
  }
});

test("a user chooses notifications of new responses", async () => {
  for (const appearance of APPEARANCES) {
    const page = await visit(`/console/flows/${flowId}/responses`, { storageState, ...appearance });
    await page.getByRole("link", { name: "Notifications" }).click();
    await assertGood(page, `notices ${appearance.theme} ${appearance.width}`);
    await page.getByLabel("Within two minutes, several together").check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("You get the next notification by e-mail").waitFor();
  }
  const page = await visit(`/console/flows/${flowId}/responses/notices`, { storageState });
  assert.equal(await page.getByLabel("Within two minutes, several together").isChecked(), true);
});

test("an owner tests the mail server and reads its reply in plain words", async () => {
  for (const appearance of APPEARANCES) {
    const page = await visit("/console/settings/mail", { storageState, ...appearance });
    assert.equal(await page.locator("#address").inputValue(), "ann@mail.example");
    await assertGood(page, `mail settings ${appearance.theme} ${appearance.width}`);
    await page.getByRole("button", { name: "Send a test e-mail" }).click();
    await page.getByText("The mail server accepted the e-mail").waitFor();
    await assertGood(page, `mail test accepted ${appearance.theme} ${appearance.width}`);
    assert.equal(header(await mail.mailTo("ann@mail.example"), "Subject"), "Test from Sluice");
    await page.locator("#address").fill("bounce@mail.example");
    await page.getByRole("button", { name: "Send a test e-mail" }).click();
    await page.getByText("does not know the address (its reply: 550 5.1.1)").waitFor();
    await assertGood(page, `mail test refused ${appearance.theme} ${appearance.width}`);
  }
});
