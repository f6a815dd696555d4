// Sluice compared with the real @trpc/server: each request goes to both, and the replies must be equivalent.
//
// Compared are the status, `Vary` (Sluice may list more), `Allow`, the framing of the body, and the result or error of
// each call. Where Sluice differs deliberately, protocol-deviations.json states why and how; a listed exchange must
// still differ in that way.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { exchanges } from "./exchanges.mjs";
import { startReference } from "./reference.mjs";
import { startServer } from "./server.mjs";
import { envelopesOf, exchange } from "./wire.mjs";

const file = join(import.meta.dirname, "protocol-deviations.json");
const deviations = JSON.parse(await readFile(file, "utf8"));
const definition = {
  title: "Compared",
  questions: [{ id: "q1", type: "shortText", prompt: "One?", required: true }],
};
/** Errors whose message comes from the protocol, not from a validator or a JSON parser. */
const OWN_TEXTS = new Set(["NOT_FOUND", "METHOD_NOT_SUPPORTED", "UNSUPPORTED_MEDIA_TYPE"]);
/** A placeholder for the input, to list the exchanges before the server has started. */
const UNKNOWN_INPUT = "{}";

let server, sluice, input;
before(async () => {
  server = await startServer();
  const { appId, base } = await server.createApp("Compared");
  const { flowVersionId } = await server.createFlow(appId, "Compared", definition);
  const { port, pathname } = new URL(`${base}/trpc`);
  sluice = { port: Number(port), prefix: pathname };
  input = JSON.stringify({
    flowVersionId,
    flowVersionPayloadGeneration: "4",
    respondentAnalyticsAdmission: "collection_only",
    answers: { q1: "a" },
  });
});
after(() => server.stop());

for (const major of [11, 10]) {
  describe(`@trpc/server ${major}`, () => {
    let reference;
    before(async () => (reference = await startReference(major)));
    after(() => reference.stop());

    const listed = new Map(
      (deviations[major] ?? []).flatMap(({ exchanges, differs }) => exchanges.map((name) => [name, new RegExp(differs)])),
    );
    const all = exchanges(UNKNOWN_INPUT).filter(({ majors }) => majors.includes(major));
    const names = new Set(all.map(({ name }) => name));
    test("exchange names are unique, and each deviation has an exchange", () => {
      assert.equal(names.size, all.length);
      assert.deepEqual([...listed.keys()].filter((name) => !names.has(name)), []);
    });
    for (const { name } of all) {
      test(name, async () => {
        const { request } = exchanges(input).find((it) => it.name === name && it.majors.includes(major));
        const [ours, theirs] = await Promise.all([
          exchange(sluice.port, sluice.prefix, request),
          exchange(reference.port, "", request),
        ]);
        const found = differences(ours, theirs).join(" | ");
        const expected = listed.get(name) ?? /^$/;
        assert.match(found, expected, `ours: ${ours.status} ${ours.body}\ntheirs: ${theirs.status} ${theirs.body}`);
      });
    }
  });
}

/** How our reply differs from theirs. */
function differences(ours, theirs) {
  const found = [];
  if (ours.status !== theirs.status) found.push(`status ${ours.status} for ${theirs.status}`);
  const names = (header) => (header ?? "").toLowerCase().split(",").map((name) => name.trim());
  const missing = names(theirs.headers.vary).filter((name) => name !== "" && !names(ours.headers.vary).includes(name));
  found.push(...missing.map((name) => `Vary lacks ${name}`));
  if (ours.headers.allow !== theirs.headers.allow) found.push(`Allow ${ours.headers.allow} for ${theirs.headers.allow}`);
  const [own, other] = [envelopesOf(ours.body), envelopesOf(theirs.body)];
  if (own.framing !== other.framing) return [...found, `${own.framing} for ${other.framing}`];
  if (own.items.length !== other.items.length) return [...found, `${own.items.length} items for ${other.items.length}`];
  return [...found, ...other.items.flatMap((item, at) => differencesOf(own.items[at], item, at))];
}

function differencesOf(own, other, at) {
  if ("error" in own !== "error" in other) return [`[${at}] ${Object.keys(own)[0]} for ${Object.keys(other)[0]}`];
  if ("result" in own) {
    const [ours, theirs] = [own.result.data?.success, other.result.data?.success];
    return ours === theirs ? [] : [`[${at}] success ${ours} for ${theirs}`];
  }
  const shown = ({ error: { code, message, data } }) =>
    JSON.stringify([code, data.code, data.httpStatus, data.path, OWN_TEXTS.has(data.code) ? message : typeof message]);
  return shown(own) === shown(other) ? [] : [`[${at}] ${shown(own)} for ${shown(other)}`];
}
