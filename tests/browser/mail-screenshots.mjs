// Takes screenshots of the pages about e-mail, which need a mail server, and of the e-mails themselves:
// `node mail-screenshots.mjs FOLDER`, in both themes and three widths. Pages that are wider than the screen are listed at the end.

import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";

import { header, startMailServer } from "../clients/smtp.mjs";
import { becomes } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const WIDTHS = [390, 768, 1440];
const PASSWORD = "correct horse battery";
const PUBLIC = "https://feedback.example";
const LANGUAGES = ["en", "de", "ar", "pl"];

const local = (address) => { const { pathname, search, hash } = new URL(address); return pathname + search + hash; };

const mail = await startMailServer("none");
const world = await openWorld({
  args: ["--smtp-url", `smtp://localhost:${mail.port}?tls=none`, "--mail-from", "Acme <mail@acme.example>", "--public-url", PUBLIC,
    "--sign-ins-per-minute", "0", "--hosted-sends-per-minute", "0", "--mails-per-minute", "1000"],
});
try {
  await everything(resolve(process.argv[2] ?? "mail-screenshots"));
} finally {
  world.takeFaults();
  await world.close();
  await mail.stop();
}

/** An invitation that was sent, as its link to unsubscribe and its HTML. */
async function invited(flowId, address) {
  await world.server.admin("POST", `/flows/${flowId}/invitations?sendEmail=true&duplicates=allow`, { identities: [{ type: "traits.email", value: address }] });
  const found = await mail.mailTo(address);
  return { leave: local(/<(http[^>]+)>/.exec(header(found, "List-Unsubscribe"))[1]), html: found.html };
}

/** Creates what the pages show: paths, HTML of e-mails, and paths with what is done there. */
async function prepared() {
  const { appId } = await world.server.createApp("Hotel Belvedere");
  const questions = [{ id: "nps", type: "nps", prompt: "How likely are you to recommend us?" }];
  const { flowId } = await world.server.createFlow(appId, "Your stay", { title: "Your stay", questions });
  await world.server.admin("POST", "/users", { email: "ann@mail.example", name: "Ann", role: "owner", instance: true, sendEmail: true });
  const welcome = await mail.mailTo("ann@mail.example");
  const page = await world.visit(local(/http\S+welcome#\S+/.exec(welcome.text)[0]));
  await page.locator("#password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set password" }).click();
  await page.getByText("Your password is set").waitFor();
  const storageState = await page.context().storageState();
  await page.context().close();
  const letters = { "letter-password": welcome.html };
  const email = { subject: "How was your stay?", text: "Dear guest,\n\nit takes **two minutes**:\n\n- no account\n- no names", reminders: 2, reminderDays: 3 };
  for (const language of LANGUAGES) {
    await world.server.admin("PUT", `/flows/${flowId}/invitation-email`, { ...email, language });
    letters[`letter-invitation-${language}`] = (await invited(flowId, `ada-${language}@mail.example`)).html;
  }
  await world.server.admin("PUT", `/flows/${flowId}/invitation-email`, email);
  const asked = (await invited(flowId, "bea@mail.example")).leave;
  const done = (await invited(flowId, "cai@mail.example")).leave;
  await fetch(world.address(done), { method: "POST" });
  for (const address of ["bounce@mail.example", "delay@mail.example"]) {
    await world.server.admin("POST", `/flows/${flowId}/invitations?sendEmail=true`, { identities: [{ type: "traits.email", value: address }] });
  }
  await becomes(async () => {
    const { items } = await world.server.admin("GET", `/flows/${flowId}/invitations`);
    return items.filter(({ email }) => email?.reply).length;
  }, 2);
  const share = `/console/flows/${flowId}/share`;
  const tested = (address) => ["/console/settings/mail", async (shown) => {
    await shown.locator("#address").fill(address);
    await shown.getByRole("button", { name: "Send a test e-mail" }).click();
    await shown.locator("main .note, main .errors").first().waitFor();
  }];
  const pages = {
    unsubscribe: asked, unsubscribed: done, forgotten: "/console/forgotten",
    "forgotten-sent": ["/console/forgotten", async (shown) => {
      await shown.locator("#email").fill("ann@mail.example");
      await shown.getByRole("button", { name: "Send link" }).click();
      await shown.getByText("If this address belongs").waitFor();
    }],
    notices: `/console/flows/${flowId}/responses/notices`, "invitations-mailed": share,
    "invitation-email": [share, (shown) => shown.getByText("E-mail text and reminders").click()],
    "invite-by-mail": [share, (shown) => shown.getByText("Invite people", { exact: true }).click()],
    "mail-settings": "/console/settings/mail",
    "mail-test-accepted": tested("ann@mail.example"), "mail-test-refused": tested("bounce@mail.example"),
  };
  return { pages, letters, storageState };
}

async function everything(folder) {
  await mkdir(folder, { recursive: true });
  const { pages, letters, storageState } = await prepared();
  const problems = [];
  for (const width of WIDTHS) {
    for (const theme of ["light", "dark"]) {
      const appearance = { size: width < 500 ? "phone" : "desktop", viewport: { width, height: 900 }, theme, storageState };
      const shoot = async (page, name) => {
        const file = `${name}-${width}-${theme}`;
        const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        if (content > screen) problems.push(`${file}: ${content} px wide`);
        await page.screenshot({ path: resolve(folder, `${file}.png`), fullPage: true });
        await page.context().close();
      };
      for (const [name, shown] of Object.entries(pages)) {
        const [path, act] = [shown].flat();
        const page = await world.visit(path, appearance);
        await act?.(page);
        await shoot(page, name);
      }
      for (const [name, html] of Object.entries(letters)) {
        const page = await world.visit("/livez", appearance);
        await page.setContent(html);
        await shoot(page, name);
      }
      console.log(`${width} px, ${theme}: ${Object.keys(pages).length} pages, ${Object.keys(letters).length} e-mails`);
    }
  }
  if (problems.length > 0) {
    console.error(`Problems:\n${problems.join("\n")}`);
    process.exitCode = 1;
  }
}
