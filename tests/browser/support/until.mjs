// Waits for the state of a page. A page continues to change after the call that changed it has returned: on a busy
// machine, a single read may return the old value.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

/** The maximum wait, here and in Playwright. Long enough for a busy machine. */
export const WAIT_MS_MAX = 60_000;
const PAUSE_MS = 25;

/** Repeats a check until it passes and returns its value; at the deadline, throws its last error. */
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
