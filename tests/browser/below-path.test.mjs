// A whole story below a path of the host, through nginx with the file of packaging/proxies: sign in, publish, answer, results.
// The rest of the host belongs to another application; nothing of the service may ask it for anything.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";

import { HOST, startProxy } from "../clients/proxies.mjs";
import { startServer } from "../clients/server.mjs";
import { ADMIN_TOKEN } from "./support/console.mjs";
import { launch } from "./support/chromium.mjs";
import { becomes, until, WAIT_MS_MAX } from "./support/until.mjs";

const PATH = "/feedback";

const args = ["--public-url", `https://${HOST}${PATH}`, "--trusted-proxies", "127.0.0.1/32", "--hosted-sends-per-minute", "0"];
const node = await startServer({ args });
const proxy = await startProxy("nginx", [node, node], { path: PATH });
const browser = await launch({ args: [`--host-resolver-rules=MAP ${HOST}:443 127.0.0.1:${proxy.httpsPort}`] });
const publicUrl = proxy.url;
after(async () => {
  await browser.close();
  await proxy.stop();
  await node.stop();
});

async function person() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ignoreHTTPSErrors: true });
  context.setDefaultTimeout(WAIT_MS_MAX);
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(error.stack));
  page.on("console", (message) => message.type() === "error" && page.faults.push(`${page.url()}: ${message.text()}`));
  page.on("response", (reply) => reply.status() >= 400 && page.faults.push(`${reply.status()} ${reply.url()}`));
  return page;
}

test("sign in, publish, answer and read results below a path", async () => {
  assert.equal(new URL(node.url).pathname, PATH);
  const { appId } = await node.createApp("Below a path");
  await node.admin("PATCH", `/apps/${appId}`, { hosted: { spamProtection: false } });
  const author = await person();
  await author.goto(publicUrl);
  await author.waitForURL(`${publicUrl}/console/sign-in*`);
  await author.locator("[name=token]").fill(ADMIN_TOKEN);
  await author.getByRole("button", { name: "Sign in" }).click();
  await author.waitForURL(`${publicUrl}/console/apps/*`);
  const [session] = (await author.context().cookies()).filter(({ name }) => name === "__Secure-sluice");
  assert.equal(session.path, PATH);
  assert.equal(session.httpOnly, true);

  // The theme is kept for the console only.
  await author.locator("[data-theme-switch]").first().click();
  const [theme] = (await author.context().cookies()).filter(({ name }) => name === "sluice_theme");
  assert.equal(theme.path, `${PATH}/console`);

  // From a template to a published flow.
  await author.getByRole("link", { name: "New flow" }).first().click();
  await author.getByRole("button", { name: "Use template: Net promoter score" }).click();
  await author.locator(".editor[data-ready]").waitFor();
  const flow = /flows\/(fl_\w+)/.exec(author.url())[1];
  const prompt = author.locator('[data-pointer="/questions/0/prompt"]');
  if (!(await prompt.isVisible())) await author.locator(".item").first().locator(".open").click();
  await prompt.fill("How likely are you to recommend paths?");
  await author.locator("#saving[data-state=saved]").waitFor();
  // The preview is the hosted page in a frame.
  const preview = author.frameLocator("iframe").locator("form");
  await preview.first().waitFor();
  await author.getByRole("link", { name: "Publish", exact: true }).click();
  await author.locator("dialog.ask[open]").getByRole("button", { name: "Publish version 1" }).click();
  await author.getByText("Version 1 is live.").waitFor();

  // The search of any page leads below the path.
  const { name } = await node.admin("GET", `/flows/${flow}`);
  await author.goto(`${publicUrl}/console/settings/apps`);
  await author.locator("[data-theme-switch]").first().waitFor();
  await author.keyboard.press("Control+k");
  const found = author.waitForResponse((reply) => reply.url().startsWith(`${publicUrl}/console/search?q=`));
  await author.getByRole("combobox", { name: "Search flows and pages" }).fill(name);
  assert.match(await (await found).text(), new RegExp(`"${PATH}/console/flows/${flow}"`));
  await author.locator("#go-list li").filter({ hasText: name }).first().click();
  await author.waitForURL(`${publicUrl}/console/flows/${flow}/**`);

  // A live list of responses, while somebody answers.
  await author.goto(`${publicUrl}/console/flows/${flow}/responses`);
  const respondent = await person();
  await respondent.goto(`${publicUrl}/f/${flow}`);
  await respondent.getByText("How likely are you to recommend paths?").waitFor();
  await respondent.locator('[name="answers.nps"][value="9"]').check();
  const thanks = respondent.locator("[data-state=stored]");
  await until(async () => {
    if (await thanks.isVisible()) return;
    await respondent.locator("button.primary:visible").first().click({ timeout: 5000 });
    await thanks.waitFor({ timeout: 2000 });
  });
  await respondent.waitForURL(`${publicUrl}/f/${flow}/done*`);
  const [stored] = (await node.admin("GET", `/flows/${flow}/responses`)).items;
  assert.equal(stored.context.page.path, `${PATH}/f/${flow}`);
  const row = author.locator(`tr[data-id="${stored.responseId}"] a`).first();
  await row.waitFor();
  assert.match(await row.getAttribute("href"), new RegExp(`^${PATH}/console/flows/`));

  // Results.
  await author.goto(`${publicUrl}/console/flows/${flow}/results`);
  // One promoter is a score of 100.
  await becomes(() => author.locator('main svg text[font-size="44"]').first().textContent(), "+100");

  // The documentation.
  await author.goto(`${publicUrl}/docs`);
  await author.locator(`main a[href^="${PATH}/docs/"]`).first().click();
  await author.waitForURL(`${publicUrl}/docs/*`);

  // A page of the host with the button of the service.
  const visitor = await person();
  await visitor.route(`https://${HOST}${PATH}/shop`, (route) => route.fulfill({
    contentType: "text/html",
    body: `<!doctype html><title>Shop</title><script src="${publicUrl}/f/assets/embed.js" data-flow="${flow}"></script>`,
  }));
  await visitor.goto(`${publicUrl}/shop`);
  await visitor.getByRole("button", { name: "Feedback" }).click();
  const embedded = visitor.frameLocator("iframe");
  await embedded.getByText("How likely are you to recommend paths?").waitFor();
  // The frame reports its height, so messages of the service are accepted.
  await becomes(() => visitor.locator("iframe").evaluate((frame) => frame.style.blockSize !== ""), true);

  const paths = (await readFile(join(proxy.folder, "access.log"), "utf8")).match(/(?<="[A-Z]+ )\S+/g);
  assert.ok(paths.length > 50);
  assert.deepEqual(paths.filter((path) => path !== PATH && !path.startsWith(`${PATH}/`)), [], "requests outside the path");
  assert.deepEqual([...author.faults, ...respondent.faults, ...visitor.faults], []);
});
