// The signing snippets of the guide, extracted and run unchanged: a server that enforces must accept the
// token of each.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { enforcing } from "./identity.mjs";
import { LANGUAGES } from "./languages.mjs";
import { startServer } from "./server.mjs";

const GUIDE = await readFile(join(import.meta.dirname, "../../docs/identity.md"), "utf8");
const SIGNING = GUIDE.split("\n## ").find((section) => section.startsWith("Signing\n"));
const SNIPPETS = new Map([...SIGNING.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, fence, code]) => [fence, code]));
/** Run by the tests of the binary. */
const ELSEWHERE = ["rust"];

let server;
let app;
before(async () => {
  server = await startServer();
  app = await enforcing(server, "Snippets", { type: "hs256" });
  // Two keys, so that the key id is required.
  await server.admin("POST", `/apps/${app.appId}/identity-keys`, { type: "hs256" });
});
after(() => server?.stop());

test("every snippet of the guide is run by some test", () => {
  assert.deepEqual([...SNIPPETS.keys()].sort(), [...Object.keys(LANGUAGES), ...ELSEWHERE].sort());
});

for (const [fence, language] of Object.entries(LANGUAGES)) {
  test(`the token of the ${fence} snippet is accepted`, async (t) => {
    const absent = await language.missing();
    if (absent) return t.skip(absent);
    const userId = `user of ${fence}`;
    const token = await language.sign(SNIPPETS.get(fence), [app.secret, app.kid, app.appId, userId]);
    await app.assertAccepts(token, userId);
    const other = await language.sign(SNIPPETS.get(fence), [app.secret, app.kid, "ap_other", userId]);
    await app.assertRefuses(other, "token_invalid");
  });
}
