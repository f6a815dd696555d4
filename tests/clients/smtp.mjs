// Starts the mail server of smtp.py, and collects what it accepts.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { PYTHON } from "./python.mjs";

const ARRIVES_MS_MAX = 90_000;

/** `mode` is starttls, smtps or none; `password`, if anybody has to sign in, is that of the user "sluice". */
export async function startMailServer(mode, { password } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "sluice-smtp-"));
  const child = spawn(PYTHON, [join(import.meta.dirname, "smtp.py"), mode, folder], {
    env: { PATH: process.env.PATH, ...(password === undefined ? {} : { SMTP_PASSWORD: password }) },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (chunk) => (errors += chunk));
  const ended = new Promise((done) => child.on("exit", done));
  const mails = [];
  const waiting = new Set();
  const port = await new Promise((found, failed) => {
    child.on("exit", () => failed(new Error(`the mail server ended:\n${errors}`)));
    createInterface(child.stdout).on("line", (line) => {
      const said = JSON.parse(line);
      if (said.port) return found(said.port);
      mails.push(said);
      for (const check of waiting) check();
    });
  });
  /** The first e-mail to an address that was not returned yet. */
  const mailTo = (address) =>
    new Promise((found, failed) => {
      const timer = setTimeout(() => {
        waiting.delete(check);
        failed(new Error(`no e-mail to ${address}; there are ${JSON.stringify(mails.map((mail) => mail.to))}`));
      }, ARRIVES_MS_MAX);
      const check = () => {
        const at = mails.findIndex((mail) => mail.to.includes(address));
        if (at < 0) return;
        clearTimeout(timer);
        waiting.delete(check);
        found(mails.splice(at, 1)[0]);
      };
      waiting.add(check);
      check();
    });
  const stop = async () => {
    child.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  return { port, mails, mailTo, stop, authority: join(folder, "ca.pem") };
}

export const header = (mail, name) => mail.headers.find(([it]) => it.toLowerCase() === name.toLowerCase())?.[1];
