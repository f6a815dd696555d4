// Python with the libraries of requirements.txt, in a venv below target/ that scripts/test creates.

import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";

const VENV = process.env.SLUICE_VENV ?? resolve(import.meta.dirname, "../../target/tools/python");
export const PYTHON = join(VENV, "bin/python");
const RUN_MS_MAX = 180_000;

/** The output of a Python program for `input`. */
export function python(args, input = "", { timeout = RUN_MS_MAX } = {}) {
  assertInstalled();
  return new Promise((done, failed) => {
    const child = execFile(PYTHON, args, { timeout }, (error, stdout, stderr) =>
      error ? failed(new Error(`${error.message}\n${stderr}`)) : done(stdout.trim()));
    // A program that ended early says why in its output.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

/**
 * A function that asks a Python program, which prints one line of JSON for each line of JSON that it reads. The program is
 * started once, since its imports take seconds, and ends after the tests of the file.
 */
export function pythonService(args) {
  let service;
  after(() => service?.child.stdin.end());
  return async (request) => {
    service ??= startService(args);
    const { child, waiting, ended } = service;
    if (ended) throw ended;
    child.stdin.write(`${JSON.stringify(request)}\n`);
    const reply = new Promise((done, failed) => waiting.push({ done, failed }));
    const timer = setTimeout(() => {
      service.fail(`did not reply within ${RUN_MS_MAX} ms`);
      child.kill("SIGKILL");
    }, RUN_MS_MAX);
    return JSON.parse(await reply.finally(() => clearTimeout(timer)));
  };
}

function startService(args) {
  assertInstalled();
  const child = spawn(PYTHON, args);
  const service = { child, waiting: [], error: "", ended: null };
  // The requests that wait, and all later ones, fail.
  service.fail = (why) => {
    service.ended ??= new Error(`Python ${why}: ${service.error}`);
    for (const { failed } of service.waiting.splice(0)) failed(service.ended);
  };
  child.stderr.setEncoding("utf8").on("data", (text) => (service.error += text));
  child.stdin.on("error", () => {});
  createInterface({ input: child.stdout }).on("line", (line) => service.waiting.shift()?.done(line));
  child.on("error", (error) => service.fail(`failed (${error.message})`));
  child.on("close", (code, signal) => service.fail(`ended with ${signal ?? code}`));
  return service;
}

function assertInstalled() {
  if (existsSync(PYTHON)) return;
  const requirements = join(import.meta.dirname, "requirements.txt");
  throw new Error(`no Python here: python3 -m venv ${VENV} && ${VENV}/bin/pip install -r ${requirements}`);
}
