// The gallery: `npm run screenshots` takes every page and state of the hosted page and of the console, the pages about e-mail
// and the e-mails, at three widths in both themes, and writes an index to look through them.
// `npm run screenshots -- FOLDER [hosted|console|mail]` chooses where, and which of the three.

import { spawn } from "node:child_process";
import { readdir, mkdir, writeFile } from "node:fs/promises";
import { resolve } from "node:path";

const HERE = import.meta.dirname;
const SCRIPTS = { hosted: "screenshots.mjs", console: "console-screenshots.mjs", mail: "mail-screenshots.mjs" };
const [folder = resolve(HERE, "../../target/gallery"), only] = process.argv.slice(2);
const APPEARANCES = [390, 768, 1440].flatMap((width) => ["light", "dark"].map((theme) => `${width}-${theme}`));

const run = (script, to) => new Promise((done) => {
  spawn(process.execPath, [resolve(HERE, script), to], { stdio: "inherit", cwd: HERE }).on("exit", (code) => done(code === 0));
});

/** One row per page, one picture per width and theme. */
async function index(parts) {
  const rows = [];
  for (const part of parts) {
    const files = (await readdir(resolve(folder, part))).filter((name) => name.endsWith(".png"));
    const names = [...new Set(files.map((name) => name.replace(/-\d+-(light|dark)\.png$/, "")))].sort();
    rows.push(`<h2>${part}: ${names.length} pages</h2>`);
    for (const name of names) {
      const pictures = APPEARANCES.map((each) => `${part}/${name}-${each}.png`)
        .map((path) => `<a href="${path}"><img loading="lazy" src="${path}" alt="${path}"></a>`);
      rows.push(`<h3>${name}</h3><div>${pictures.join("")}</div>`);
    }
  }
  const style = "body{font:14px system-ui;margin:2rem}div{display:flex;gap:8px;overflow-x:auto}img{height:320px;border:1px solid #999}";
  await writeFile(resolve(folder, "index.html"), `<!doctype html><meta charset="utf-8"><title>Gallery</title><style>${style}</style>${rows.join("\n")}`);
}

const parts = Object.keys(SCRIPTS).filter((part) => !only || part === only);
await mkdir(folder, { recursive: true });
let isGood = true;
for (const part of parts) isGood = (await run(SCRIPTS[part], resolve(folder, part))) && isGood;
await index(parts);
console.log(`${resolve(folder, "index.html")}`);
process.exitCode = isGood ? 0 : 1;
