// The Chromium that the tests use: the one named by `CHROMIUM`, or the first that is installed.
//
// The headless shell is Chromium without its user interface; it opens pages in half the time.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const INSTALLED = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
// Without these Chromium contacts its vendor's servers; as root it has no sandbox.
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
];

/** Several start at once, on a machine that compiles. */
const START_MS_MAX = 120_000;

/** `args` are further flags. */
export function launch({ args = [] } = {}) {
  const executablePath = process.env.CHROMIUM ?? INSTALLED.find((path) => existsSync(path));
  if (!executablePath) throw new Error("no Chromium: install Debian's chromium-headless-shell, or set CHROMIUM to its path");
  return chromium.launch({ executablePath, args: [...FLAGS, ...args], timeout: START_MS_MAX });
}
