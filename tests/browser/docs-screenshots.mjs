// Takes the pictures of docs/question-types.md: `node docs-screenshots.mjs`. Each shows the example of its type, answered.

import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

import { fill } from "./support/answering.mjs";
import { openWorld } from "./support/world.mjs";

const DOCS = resolve(import.meta.dirname, "../../docs");
const SECTION = /^## (\w+)\n.*?^```yaml\n(.*?)^```.*?^```json\n(.*?)^```/gms;
const WIDTH = 680;
const MARGIN = 20;

const world = await openWorld();
try {
  const guide = await readFile(`${DOCS}/question-types.md`, "utf8");
  const { appId } = await world.server.createApp("Types");
  const env = { ...process.env, SLUICE_SERVER: world.server.url, SLUICE_TOKEN: world.server.token };
  for (const [, type, example, answers] of guide.matchAll(SECTION)) {
    const input = `title: Example\nautoAdvance: false\nquestions:\n${example.replace(/^/gm, "  ")}`;
    const pushed = execFileSync(process.env.SLUICE_BIN, ["flow", "push", "-", "--app", appId, "--publish"], { env, input, encoding: "utf8", stdio: "pipe" });
    const page = await world.visit(`/f/${pushed.match(/fl_\w+/)[0]}`, { viewport: { width: WIDTH, height: 500 } });
    const [id, answer] = Object.entries(JSON.parse(answers))[0] ?? [];
    if (id) await fill(page.locator(`#q-${id}`), answer);
    await page.mouse.move(0, 0);
    await page.evaluate(() => document.activeElement?.blur());
    const [start, end] = await Promise.all(["[id^=q-]", ".actions"].map((part) => page.locator(part).first().boundingBox()));
    const y = Math.floor(start.y - MARGIN);
    const clip = { x: 0, y, width: WIDTH, height: Math.ceil(end.y - MARGIN / 2) - y };
    await page.screenshot({ path: `${DOCS}/images/type-${type}.png`, clip, fullPage: true });
    await page.context().close();
    console.log(type);
  }
} finally {
  await world.close();
}
