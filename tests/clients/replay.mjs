// Replays recorded exchanges of real tRPC servers against this one, and checks the list of deviations: an
// exchange may differ only as replay-deviations.json describes, and a listed one must still differ.
//
// usage: node replay.mjs FOLDER (with replay.mjs, v11.json and v10.json)

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { startServer } from "./server.mjs";

const [folder] = process.argv.slice(2);
const listed = JSON.parse(await readFile(join(import.meta.dirname, "replay-deviations.json"), "utf8"));
const definition = {
  title: "Replayed",
  questions: [{ id: "q1", type: "shortText", prompt: "One?", required: true }],
};

let failed = 0;
const server = await startServer();
try {
  const { appId, base } = await server.createApp("Replay");
  const { flowVersionId } = await server.createFlow(appId, "Replay", definition);
  const input = JSON.stringify({
    flowVersionId,
    flowVersionPayloadGeneration: "4",
    respondentAnalyticsAdmission: "collection_only",
    answers: { q1: "a" },
  });
  for (const file of ["v11.json", "v10.json"]) {
    failed += compare(file, await replay(file, `${base}/trpc`, input), listed[file]);
  }
} finally {
  await server.stop();
}
process.exit(failed === 0 ? 0 : 1);

/** Runs the recorder's replayer: returns how many exchanges match, and which do not. */
async function replay(file, url, input) {
  // Sluice sends every error as application/json, while the reference sends some as text/plain.
  const options = ["--input", input, "--ignore", "content-type"];
  const child = spawn(process.execPath, [join(folder, "replay.mjs"), join(folder, file), url, ...options]);
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.pipe(process.stderr);
  await once(child, "close");
  const lines = output.trim().split("\n");
  const deviations = new Map(lines.map((line) => /^FAIL (\S+): (.*)$/.exec(line)?.slice(1)).filter(Boolean));
  const { pass, fail } = JSON.parse(lines.at(-1));
  if (pass === 0 || fail !== deviations.size) throw new Error(`cannot read the replayer's output:\n${output}`);
  return { pass, deviations };
}

/** Prints unexpected results and a line of counts; returns the number of failures. */
function compare(file, { pass, deviations }, groups) {
  const patterns = new Map(
    groups.flatMap(({ exchanges, differs }) => exchanges.map((name) => [name, new RegExp(differs)])),
  );
  const unlisted = [...deviations].filter(([name, how]) => !patterns.get(name)?.test(how));
  const outdated = [...patterns.keys()].filter((name) => !deviations.has(name));
  for (const [name, how] of unlisted) console.log(`not as listed: ${name}: ${how}`);
  for (const name of outdated) console.log(`listed, but as recorded by now: ${name}`);
  const failures = unlisted.length + outdated.length;
  const asListed = deviations.size - unlisted.length;
  console.log(`${file}: ${pass - outdated.length} as recorded, ${asListed} as listed, ${failures} failed`);
  return failures;
}
