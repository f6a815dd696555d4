// The console of a copy, which sends nothing until its operator decides: a banner on every page says so.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";

import { BINARY, startServer } from "../clients/server.mjs";
import { agree, atDesk, checkPage } from "./support/console.mjs";
import { openWorld } from "./support/world.mjs";

const original = await startServer();
const { appId } = await original.createApp("Hotel Belvedere");
const { flowId } = await original.createFlow(appId, "Your stay", { title: "Your stay", questions: [{ id: "nps", type: "nps", prompt: "How likely?" }] });
const { data: from } = await original.kill();
const folder = await mkdtemp(join(tmpdir(), "sluice-held-"));
const data = join(folder, "copy");
await mkdir(data);
await promisify(execFile)(BINARY, ["move", "--from", `sqlite:${from}/sluice.db`, "--to", `sqlite:${data}/sluice.db`]);
await copyFile(join(from, "master.key"), join(data, "master.key"));
const world = await openWorld({ data });
after(async () => {
  await world.close();
  for (const path of [from, folder]) await rm(path, { recursive: true, force: true });
});

const desk = await atDesk(world);
const banner = (page) => page.getByRole("note", { name: "Nothing is sent" });

test("every page says that nothing is sent, since when, and how to resume", async () => {
  for (const path of [`/console/apps/${appId}`, `/console/flows/${flowId}/edit`, `/console/flows/${flowId}/responses`, "/console/settings/mail"]) {
    const page = await desk.open(path);
    const what = `held ${path.split("/").at(-1).replace(appId, "flows")}`;
    const text = await banner(page).innerText();
    assert.match(text, /^Nothing is sent\. E-mails and webhooks have been on hold since .+, because this database was restored or moved/, what);
    assert.match(text, /sluice outbound resume/, what);
    await checkPage(page, what);
    await page.context().close();
  }
});

test("the banner leads to the decision, and is gone after it", async () => {
  const page = await desk.open(`/console/flows/${flowId}/share`);
  await banner(page).getByRole("link", { name: "Choose what to do with the pending items" }).click();
  await page.getByRole("heading", { name: "E-mails and webhooks are on hold" }).waitFor();
  await page.getByRole("button", { name: "Discard pending" }).click();
  await agree(page);
  await page.getByText("E-mails and webhooks are sent from now on.").waitFor();
  assert.equal(await banner(page).count(), 0);
  await page.goto(world.address(`/console/apps/${appId}`));
  assert.equal(await banner(page).count(), 0);
});
