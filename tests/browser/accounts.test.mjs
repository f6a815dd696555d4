// The user's own account in the console: second factor, recovery codes, sessions, and confirming the identity; axe checks each page.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, test } from "node:test";

import { agree, checkPage } from "./support/console.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const EMAIL = "ann@mail.example";
const PASSWORD = "correct horse battery";
const ACCOUNT = "/console/settings/account";
const STEP_MS = 30_000;

const world = await openWorld({ args: ["--sign-ins-per-minute", "0"] });
after(() => world.close());

/** What an authenticator app shows (RFC 6238: SHA-1, six digits, 30 seconds). A code works once, so each is for a later step. */
class Authenticator {
  #key;
  #step = 0;

  constructor(secret) {
    const bits = [...secret].map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0")).join("");
    this.#key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  }

  code() {
    this.#step = Math.max(this.#step + 1, Math.floor(Date.now() / STEP_MS));
    const message = Buffer.alloc(8);
    message.writeBigUInt64BE(BigInt(this.#step));
    const tag = createHmac("sha1", this.#key).update(message).digest();
    const number = tag.readUInt32BE(tag[19] & 15) & 0x7fffffff;
    return String(number % 1_000_000).padStart(6, "0");
  }
}

/** A new browser at the prompt for the code, after the password. */
async function askedForCode() {
  const page = await world.visit(`/console/sign-in?to=${encodeURIComponent(ACCOUNT)}`);
  await page.locator("#email").fill(EMAIL);
  await page.locator("#password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator("#code").waitFor();
  return page;
}

async function signInWith(page, code) {
  await page.locator("#code").fill(code);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("a second factor is turned on, requested, replaced by a recovery code, and other sessions are ended", async () => {
  const { link } = await world.server.admin("POST", "/users", { email: EMAIL, name: "Ann", role: "owner", instance: true });
  const page = await world.visit(new URL(link).pathname + new URL(link).hash);
  await page.locator("#password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set password" }).click();
  await page.getByText("Your password is set").waitFor();

  await page.goto(world.address(ACCOUNT));
  await checkPage(page, "the account without a second factor");
  await page.getByRole("link", { name: "Turn on" }).click();
  await page.getByRole("img", { name: "QR code for the authenticator app" }).waitFor();
  await checkPage(page, "turning the second factor on");
  const app = new Authenticator(await page.locator("input[name=secret]").inputValue());
  await page.locator("#code").fill("wrong");
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.locator(".errors").waitFor();
  await checkPage(page, "a wrong code while turning it on");
  await page.locator("#code").fill(app.code());
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByText("The second factor is on.").waitFor();
  await checkPage(page, "the recovery codes");
  const recovery = (await page.locator("#recovery").innerText()).trim().split(/\s+/);
  assert.equal(recovery.length, 10);

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("**/console/sign-in");
  const first = await askedForCode();
  await checkPage(first, "asking for the code");
  await signInWith(first, "000000");
  await first.locator(".errors").waitFor();
  await checkPage(first, "a wrong code at the sign-in");
  await signInWith(first, app.code());
  await first.waitForURL(`**${ACCOUNT}`);

  const second = await askedForCode();
  await signInWith(second, recovery[0]);
  await second.waitForURL(`**${ACCOUNT}`);
  await matches(() => second.locator("main").innerText(), /9 of 10 recovery codes are left/);
  await checkPage(second, "the account with a second factor and other sessions");
  await second.getByRole("button", { name: "End all others" }).click();
  await agree(second);
  await becomes(() => second.locator("tbody tr").count(), 1);
  await first.reload();
  await matches(() => first.url(), /\/console\/sign-in/);
  const used = await askedForCode();
  await signInWith(used, recovery[0]);
  await matches(() => used.locator(".errors").innerText(), /already used/);

  await second.setViewportSize({ width: 390, height: 900 });
  await second.goto(world.address(ACCOUNT));
  await becomes(() => second.locator(".tabs [aria-current]").evaluate((tab) => tab.getBoundingClientRect().right <= innerWidth), true,
    "the tab of the page is in view");
  await second.goto(world.address("/console/confirm?to=/console/settings/tokens"));
  await matches(() => second.locator("main").innerText(), /Nothing has been changed yet/);
  await checkPage(second, "confirming");
  await second.locator("#password").fill(PASSWORD);
  await second.locator("#code").fill("wrong");
  await second.getByRole("button", { name: "Confirm" }).click();
  await second.locator(".errors").waitFor();
  await checkPage(second, "confirming with a wrong code");
  await second.locator("#password").fill(PASSWORD);
  await second.locator("#code").fill(recovery[1]);
  await second.getByRole("button", { name: "Confirm" }).click();
  await second.waitForURL("**/console/settings/tokens");
  world.takeFaults();
});
