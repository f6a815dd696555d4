// Runs compiled samples one after the other, and prints what each would print as one line of JSON: `{ id, printed }` or `{ id, failed }`. A
// file that a sample wrote counts as printed.

import { existsSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

for (const [index, id] of JSON.parse(process.env.SAMPLES).entries()) {
  const printed = [];
  console.log = (...values) => printed.push(...values);
  try {
    // A sample may be run twice; a module is evaluated once for each address.
    await import(`${pathToFileURL(join(process.cwd(), `${id}.js`))}?${index}`);
    if (existsSync(process.env.FILE)) {
      printed.push(readFileSync(process.env.FILE, "utf8"));
      rmSync(process.env.FILE);
    }
    report({ id, printed });
  } catch (error) {
    report({ id, failed: error.message });
  }
}

function report(line) {
  const text = Buffer.from(`${JSON.stringify(line)}\n`);
  for (let written = 0; written < text.length;) written += writeSync(1, text, written);
}
