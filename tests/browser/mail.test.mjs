// E-mail in the console and for recipients: invitations, reminders, bounces, unsubscribing, password links, notices.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { header, startMailServer } from "../clients/smtp.mjs";
import { checkPage } from "./support/console.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const PASSWORD = "correct horse battery";

const mail = await startMailServer("none");
after(() => mail.stop());
const world = await openWorld({
  args: ["--smtp-url", `smtp://localhost:${mail.port}?tls=none`, "--mail-from", "Acme <mail@acme.example>",
    "--public-url", "https://feedback.example", "--sign-ins-per-minute", "0", "--hosted-sends-per-minute", "0"],
});
after(() => world.close());

const local = (address) => { const { pathname, search, hash } = new URL(address); return pathname + search + hash; };
const visit = (path, more = {}) => world.visit(path, { viewport: { width: 1440, height: 900 }, ...more });

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
  const page = await visit("/console/sign-in");
  await checkPage(page, "sign-in");
  await page.getByRole("link", { name: "Forgot your password?" }).click();
  await checkPage(page, "forgotten");
  await page.locator("#email").fill("ann@mail.example");
  await page.getByRole("button", { name: "Send link" }).click();
  await page.getByText("If this address belongs to an account").waitFor();
  await checkPage(page, "forgotten sent");
  assert.equal(header(await mail.mailTo("ann@mail.example"), "Subject"), "Reset your password");
});

test("an author writes the e-mail, invites people, and sees what became of it", async () => {
  const page = await visit(share, { storageState });
  await page.getByText("E-mail text and reminders").click();
  await page.locator("#subject").fill("How was your stay?");
  await page.locator("#text").fill("Dear guest,\n\nit takes **two minutes**.");
  await page.locator("#reminders").fill("2");
  await checkPage(page, "the form of the e-mail");
  await page.locator("#invitation-email").getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await page.locator("#people").fill("ada@mail.example\nbounce@mail.example");
  await page.getByLabel("Send each of them their link by e-mail").check();
  await page.getByRole("button", { name: "Create invitations" }).click();
  await page.getByText("The e-mails are on their way").waitFor();
  const found = await mail.mailTo("ada@mail.example");
  assert.equal(header(found, "Subject"), "How was your stay?");
  await becomes(async () => (await page.reload(), page.getByText("Bounced").count()), 1);
  await matches(async () => (await page.reload(), page.locator("#invitations").locator("..").locator("..").innerText()), /Reminder/);
  await checkPage(await visit(share, { storageState }), "invitations");
  // The link in the e-mail opens the form.
  const form = await visit(local(/http\S+flowAssignmentId=\S+/.exec(found.text)[0]));
  await form.getByText("How likely?").waitFor();
});

test("a recipient unsubscribes, with and without JavaScript, and the page says what that means", async () => {
  for (const [script, address] of [[true, "bea@mail.example"], [false, "cai@mail.example"]]) {
    await world.server.admin("POST", `/flows/${flowId}/invitations?sendEmail=true`, { identities: [{ type: "traits.email", value: address }] });
    const found = await mail.mailTo(address);
    const leave = local(/<(http[^>]+)>/.exec(header(found, "List-Unsubscribe"))[1]);
    const page = await visit(leave, { script });
    if (script) await checkPage(page, "unsubscribe");
    await page.getByText("Hotel Belvedere will no longer send e-mail to your address").waitFor();
    await page.getByRole("button", { name: "Unsubscribe" }).click();
    await page.getByText("You are unsubscribed").waitFor();
    if (script) await checkPage(page, "unsubscribed");
    const { items } = await world.server.admin("GET", `/flows/${flowId}/invitations`);
    const one = items.find(({ identities }) => identities.some(({ value }) => value === address));
    assert.equal(one.email.ended, "unsubscribed");
  }
});

test("a user chooses notifications of new responses", async () => {
  const page = await visit(`/console/flows/${flowId}/responses`, { storageState });
  await page.getByRole("link", { name: "Notifications" }).click();
  await checkPage(page, "notices");
  await page.getByLabel("Within two minutes, several together").check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("You get the next notification by e-mail").waitFor();
  await page.goto(world.address(`/console/flows/${flowId}/responses/notices`));
  assert.equal(await page.getByLabel("Within two minutes, several together").isChecked(), true);
});

test("an owner tests the mail server and reads its reply in plain words", async () => {
  const page = await visit("/console/settings/mail", { storageState });
  assert.equal(await page.locator("#address").inputValue(), "ann@mail.example");
  await checkPage(page, "mail settings");
  await page.getByRole("button", { name: "Send a test e-mail" }).click();
  await page.getByText("The mail server accepted the e-mail").waitFor();
  await checkPage(page, "mail test accepted");
  assert.equal(header(await mail.mailTo("ann@mail.example"), "Subject"), "Test from Sluice");
  await page.locator("#address").fill("bounce@mail.example");
  await page.getByRole("button", { name: "Send a test e-mail" }).click();
  await page.getByText("does not know the address (its reply: 550 5.1.1)").waitFor();
  await checkPage(page, "mail test refused");
});
