// Waiting for what a page comes to show. A page goes on after the call that made it change has returned: on a busy
// machine a value that is read once may be the one from before.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

/** The longest that anything is waited for, here and by Playwright. Long enough for a machine that is busy. */
export const WAIT_MS_MAX = 30_000;
const PAUSE_MS = 25;

/** Repeats a check until it passes and returns its value; at the deadline, throws what it threw last. */
export async function until(check) {
  for (const deadline = Date.now() + WAIT_MS_MAX; ;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await pause(PAUSE_MS);
  }
}

/** Reads until the value equals the expected one. */
export const becomes = (read, expected, message) => until(async () => assert.deepEqual(await read(), expected, message));

/** Reads until the text matches. */
export const matches = (read, pattern, message) => until(async () => assert.match(await read(), pattern, message));
