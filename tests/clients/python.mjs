// Python with the libraries of requirements.txt, in a venv below target/ that scripts/test creates.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

const VENV = process.env.SLUICE_VENV ?? resolve(import.meta.dirname, "../../target/tools/python");
export const PYTHON = join(VENV, "bin/python");
const RUN_MS_MAX = 180_000;

/** The output of a Python program for `input`. */
export function python(args, input = "", { timeout = RUN_MS_MAX } = {}) {
  if (!existsSync(PYTHON)) {
    const requirements = join(import.meta.dirname, "requirements.txt");
    throw new Error(`no Python here: python3 -m venv ${VENV} && ${VENV}/bin/pip install -r ${requirements}`);
  }
  return new Promise((done, failed) => {
    const child = execFile(PYTHON, args, { timeout }, (error, stdout, stderr) =>
      error ? failed(new Error(`${error.message}\n${stderr}`)) : done(stdout.trim()));
    // A program that ended early says why in its output.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}
