// The component of the README and the hook, in Chromium with sessions of a real server.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { resolve } from "node:path";
import { after, before, test } from "node:test";

import { build } from "esbuild";

import { becomes, until } from "../../../tests/browser/support/until.mjs";
import { openWorld } from "../../../tests/browser/support/world.mjs";

const ROOT = resolve(import.meta.dirname, "..");
const [, COMPONENT] = /^```tsx\n(.*?)^```$/ms.exec(readFileSync(resolve(ROOT, "README.md"), "utf8"));
const DEFINITION = {
  title: "Feedback",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely?", required: true },
    { id: "why", type: "shortText", prompt: "Why?", visibleIf: { question: "nps", lessThan: 7 } },
  ],
  ending: { title: "Bye" },
};
/** Children that are rendered only if their session is another one. */
const MEMOIZED = `
  import { createSluice } from "sluice";
  import { useFlow } from "sluice/react";
  import { memo } from "react";
  const sluice = createSluice({ baseUrl: "https://feedback.example.com", apiKey: "pk_…" });
  const Child = memo(({ session }) => <output>{session.answers.nps ?? "none"} {session.admission} {session.questions.length}</output>);
  export function Survey() {
    const { session } = useFlow(sluice, "fl_…");
    if (!session) return null;
    return <><button onClick={() => session.answer("nps", "3")}>Answer</button>
      <button onClick={() => (session.admission = "admitted")}>Admit</button><Child session={session} /></>;
  }`;

let world;
let host;
let script = "";
before(async () => {
  world = await openWorld();
  host = createServer((request, reply) => {
    const isScript = request.url === "/app.js";
    reply.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    reply.end(isScript ? script : '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>App</title><div id="root"></div><script src="/app.js"></script>');
  });
  host.listen(0, "127.0.0.1");
  await once(host, "listening");
  world.hosts.add(`http://127.0.0.1:${host.address().port}`);
});
after(async () => {
  host.close();
  await world.close();
});

/** A component that is mounted in a page, with a published flow. */
async function mount(component) {
  const flow = await world.flow(DEFINITION);
  const filled = component.replaceAll("https://feedback.example.com", world.server.url).replaceAll("pk_…", flow.base.split("/").at(-1)).replaceAll("fl_…", flow.flowId);
  const contents = `${filled}
    import { createRoot } from "react-dom/client";
    window.unhandled = 0;
    addEventListener("unhandledrejection", () => window.unhandled++);
    createRoot(document.getElementById("root")).render(<Survey />);`;
  const { outputFiles } = await build({ stdin: { contents, resolveDir: ROOT, loader: "tsx" }, bundle: true, format: "iife", write: false, jsx: "automatic", define: { "process.env.NODE_ENV": '"production"' } });
  script = outputFiles[0].text;
  const page = await world.visit(`http://127.0.0.1:${host.address().port}/`);
  return { flow, page };
}

test("the component of the README shows issues after the first attempt, and stores the answers", async () => {
  const { flow, page } = await mount(COMPONENT);
  const [nps, why] = [page.getByLabel("How likely?"), page.getByLabel("Why?")];
  await nps.waitFor();
  assert.equal(await page.locator("em").count(), 0, "nothing is wrong before it was answered");
  await page.getByRole("button").click();
  await becomes(() => page.locator("em").allInnerTexts(), ['Question "nps" must be answered.']);
  await becomes(() => page.getByRole("alert").allInnerTexts(), ['Question "nps" must be answered.']);
  await nps.fill("3");
  await why.fill("Slow");
  await page.getByRole("button").click();
  await becomes(() => page.locator("h1").innerText(), "Bye");
  assert.deepEqual((await world.responses(flow)).map(({ answers }) => answers), [{ nps: "3", why: "Slow" }]);
});

test("it shows what the server refuses, and errors, without an unhandled rejection", async () => {
  const { flow, page } = await mount(COMPONENT);
  await page.getByLabel("How likely?").fill("9");
  // A reply that says that the call was not judged.
  await page.route("**/trpc/**", (route) => route.fulfill({ status: 400, headers: { "access-control-allow-origin": "*" }, body: "{}" }), { times: 1 });
  await page.getByRole("button").click();
  await until(async () => assert.match(await page.getByRole("alert").innerText(), /^Not sent yet; please try again\. .*replied 400/));
  await world.server.admin("POST", `/flows/${flow.flowId}/close`);
  await page.getByRole("button").click();
  await until(async () => assert.match(await page.getByRole("alert").innerText(), /no longer/));
  assert.equal(await page.evaluate(() => window.unhandled), 0);
  assert.equal((await world.responses(flow)).length, 0);
  world.faults.length = 0;
});

test("memoized children see every change of the session", async () => {
  const { page } = await mount(MEMOIZED);
  await becomes(() => page.locator("output").innerText(), "none collection_only 1");
  await page.getByRole("button", { name: "Answer" }).click();
  await becomes(() => page.locator("output").innerText(), "3 collection_only 2");
  await page.getByRole("button", { name: "Admit" }).click();
  await becomes(() => page.locator("output").innerText(), "3 admitted 2");
});
