// E-mail through a real SMTP server (aiosmtpd): TLS, sign-in, refusals, unsubscribing, and what is logged.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { startServer } from "./server.mjs";
import { header, startMailServer } from "./smtp.mjs";

const PASSWORD = "canary-password-of-smtp";
const SENDER = "Größe & Co <feedback@sender.example>";
/** Where links in e-mails lead. */
const PUBLIC = "https://feedback.example";
const DEFINITION = { title: "Visit", questions: [{ id: "nps", type: "nps", prompt: "How likely?" }] };

/** A server that sends through the mail server with this URL. */
const startWith = (mail, url, { password = PASSWORD, trusts = true, args = [] } = {}) =>
  startServer({
    args: ["--smtp-url", url, "--mail-from", SENDER, "--public-url", PUBLIC, "--log", "trace", ...args],
    env: {
      ...(password === null ? {} : { SLUICE_SMTP_PASSWORD: password }),
      ...(trusts ? { SSL_CERT_FILE: mail.authority } : {}),
    },
  });

const testMail = async (server, address) => {
  const { accepted, reason } = await server.admin("POST", "/mail-test", { address });
  if (!accepted) throw new Error(reason);
};

const until = async (what, holds, ms = 90_000) => {
  const end = Date.now() + ms;
  for (;;) {
    const found = await holds();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what} did not happen`);
    await new Promise((done) => setTimeout(done, 100));
  }
};

for (const [mode, scheme] of [["starttls", "smtp"], ["smtps", "smtps"]]) {
  describe(`with ${mode}`, () => {
    let mail;
    before(async () => (mail = await startMailServer(mode, { password: PASSWORD })));
    after(() => mail?.stop());

    test("an e-mail arrives over TLS, after signing in", async () => {
      const server = await startWith(mail, `${scheme}://sluice@localhost:${mail.port}`);
      try {
        await testMail(server, "ann@mail.example");
        const found = await mail.mailTo("ann@mail.example");
        assert.deepEqual([found.tls, found.user, found.defects], [true, true, []]);
        assert.equal(found.from, "feedback@sender.example");
        assert.match(header(found, "From"), /^"?Größe & Co"? <feedback@sender\.example>$/);
        assert.match(header(found, "Message-ID"), /^<[0-9a-f]{32}@sender\.example>$/);
        assert.match(found.text, /This server can send e-mail/);
      } finally {
        await server.stop();
      }
    });

    test("a wrong password is reported without repeating it", async () => {
      const server = await startWith(mail, `${scheme}://sluice@localhost:${mail.port}`, { password: "canary-wrong" });
      try {
        await assert.rejects(testMail(server, "ann@mail.example"), (error) => {
          assert.match(error.message, /refused to sign in \(535/);
          assert.doesNotMatch(error.message, /canary/);
          return true;
        });
        assert.doesNotMatch(server.log(), /canary/);
      } finally {
        await server.stop();
      }
    });

    test("a certificate of an unknown authority is not accepted", async () => {
      const server = await startWith(mail, `${scheme}://sluice@localhost:${mail.port}`, { trusts: false });
      try {
        await assert.rejects(testMail(server, "ann@mail.example"), /cannot be used/);
      } finally {
        await server.stop();
      }
    });
  });
}

test("a server without STARTTLS is used only if that is stated", async () => {
  const mail = await startMailServer("none");
  try {
    const strict = await startWith(mail, `smtp://localhost:${mail.port}`, { password: null });
    await assert.rejects(testMail(strict, "ann@mail.example"), /cannot be used/);
    await strict.stop();
    assert.equal(mail.mails.length, 0);
    const plain = await startWith(mail, `smtp://localhost:${mail.port}?tls=none`, { password: null });
    await testMail(plain, "ann@mail.example");
    assert.equal((await mail.mailTo("ann@mail.example")).tls, false);
    await plain.stop();
  } finally {
    await mail.stop();
  }
});

test("a mail server without a public URL is refused at the start", async () => {
  const args = ["--smtp-url", "smtp://localhost:1?tls=none", "--mail-from", SENDER];
  await assert.rejects(startServer({ args }), /smtp-url needs public-url/);
});

describe("invitations", () => {
  let mail;
  let server;
  let flow;
  before(async () => {
    mail = await startMailServer("starttls", { password: PASSWORD });
    server = await startWith(mail, `smtp://sluice@localhost:${mail.port}`, { args: ["--mails-per-minute", "1000"] });
    const { appId } = await server.createApp("Hotel \r\nBcc: x@mail.example");
    flow = await server.createFlow(appId, "Visit", DEFINITION);
  });
  after(async () => {
    await server?.stop();
    await mail?.stop();
  });

  const invite = (address, more = "") =>
    server.admin("POST", `/flows/${flow.flowId}/invitations?sendEmail=true${more}`, {
      identities: [{ type: "traits.email", value: address }],
    });
  const statusOf = async (made) => (await server.admin("GET", `/invitations/${made.flowAssignmentId}`)).email;

  test("an invitation arrives in its language, with one-click unsubscribe", async () => {
    await server.admin("PUT", `/flows/${flow.flowId}/invitation-email`, {
      subject: "Drei Fragen zur Größe 🦦",
      text: "Hallo,\n\nwie war *es*?",
      language: "de",
    });
    const made = await invite("ada@mail.example");
    const found = await mail.mailTo("ada@mail.example");
    assert.equal(header(found, "Subject"), "Drei Fragen zur Größe 🦦");
    assert.equal(header(found, "Bcc"), undefined);
    assert.equal(header(found, "List-Unsubscribe-Post"), "List-Unsubscribe=One-Click");
    assert.deepEqual(found.to, ["ada@mail.example"]);
    assert.ok(found.text.includes(made.link) && found.html.includes(made.link.replaceAll("&", "&amp;")));
    assert.match(found.text, /Jetzt antworten/);
    assert.match(found.html, /<em>es<\/em>/);
    const status = await until("sent", async () => (await statusOf(made)).sent === 1 && statusOf(made));
    assert.equal(status.ended, null);

    const leave = /<(http[^>]+)>/.exec(header(found, "List-Unsubscribe"))[1];
    assert.ok(leave.startsWith(`${PUBLIC}/u/`));
    const page = server.url + new URL(leave).pathname;
    const shown = await (await fetch(page)).text();
    assert.match(shown, /Abmelden\?/);
    assert.notEqual((await statusOf(made)).ended, "unsubscribed", "opening the page changes nothing");
    const done = await fetch(page, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "List-Unsubscribe=One-Click",
    });
    assert.equal(done.status, 200);
    assert.match(await done.text(), /Sie sind abgemeldet/);
    assert.equal((await statusOf(made)).ended, "unsubscribed");
    const again = await invite("ADA@mail.example", "&duplicates=allow");
    await until("it ended", async () => (await statusOf(again)).ended === "unsubscribed");
    assert.equal(mail.mails.length, 0);
    assert.equal((await fetch(`${page}x`)).status, 404);
  });

  test("a refused address is noted as bounced, a delayed one is tried again", async () => {
    const bounced = await invite("bounce@mail.example");
    const delayed = await invite("delay@mail.example");
    const status = await until("a bounce", async () => (await statusOf(bounced)).ended && statusOf(bounced));
    assert.deepEqual([status.ended, status.reply, status.sent], ["bounced", "550 5.1.1", 0]);
    const waits = await until("a delay", async () => (await statusOf(delayed)).reply && statusOf(delayed));
    assert.deepEqual([waits.ended, waits.reply, waits.sent], [null, "451 4.7.1", 0]);
    assert.ok(new Date(waits.nextAt) > Date.now());
  });

  test("a file of people is sent if that is asked for", async () => {
    const reply = await fetch(`${server.url}/api/admin/v1/flows/${flow.flowId}/invitations?sendEmail=true`, {
      method: "POST",
      headers: { authorization: "Bearer token-of-the-client-tests-0123456789", "content-type": "text/csv" },
      body: "email\nbea@mail.example\ncai@mail.example\n",
    });
    assert.deepEqual(await reply.json(), { created: 2, skipped: 0 });
    await mail.mailTo("bea@mail.example");
    await mail.mailTo("cai@mail.example");
  });

  test("a password link by e-mail sets the password", async () => {
    const user = { email: "eve@mail.example", name: "Eve", role: "owner", instance: true, sendEmail: true };
    const made = await server.admin("POST", "/users", user);
    assert.equal(made.link, null);
    const found = await mail.mailTo("eve@mail.example");
    assert.match(found.text, /\/console\/welcome#\w{40,}/);
    assert.equal(header(found, "List-Unsubscribe"), undefined);
  });

  test("a mail server that hangs stops nothing else", async () => {
    const sending = testMail(server, "hang@mail.example").then(() => null, (error) => error);
    assert.ok(await server.admin("GET", `/flows/${flow.flowId}`));
    assert.match((await sending).message, /did not answer in time/);
    await invite("dan@mail.example");
    await mail.mailTo("dan@mail.example");
  });

  test("a mail server that replies late to the content gets the e-mail once", async () => {
    const made = await invite("slow@mail.example");
    await mail.mailTo("slow@mail.example");
    assert.equal((await statusOf(made)).sent, 0, "it has not replied yet");
    const others = await invite("fay@mail.example");
    await mail.mailTo("fay@mail.example");
    await until("sent to others meanwhile", async () => (await statusOf(others)).sent === 1);
    const status = await until("a late reply", async () => (await statusOf(made)).sent > 0 && statusOf(made), 60_000);
    assert.deepEqual([status.sent, status.nextAt, status.ended, status.reply], [1, null, null, null]);
    assert.equal(mail.mails.length, 0, "it was sent once");
  });

  test("no address, link or password is logged", async () => {
    const log = server.log();
    assert.ok(log.length > 1_000, "nothing is logged at trace");
    for (const secret of [/@mail\.example/, /canary/, /fa_\w{22}/, /ml_\w{22}/, /welcome#/]) {
      assert.doesNotMatch(log, secret);
    }
  });
});
