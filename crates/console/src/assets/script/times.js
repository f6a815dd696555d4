/*
 * Times in the reader's time zone. A recent `data-ago` time is relative; every time has the exact
 * one as its title.
 */

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** From this age on, a date says more than "3 weeks ago". */
const AGO_MS_MAX = 7 * DAY_MS;

const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** A recent time relative to now, or null. */
export function agoText(at, now) {
  const age = now - at;
  if (age < -MINUTE_MS || age >= AGO_MS_MAX) return null;
  if (age < MINUTE_MS) return "just now";
  for (const [unit, ms] of [["day", DAY_MS], ["hour", 60 * MINUTE_MS], ["minute", MINUTE_MS]]) {
    if (age >= ms) return relative.format(-Math.floor(age / ms), unit);
  }
  return null;
}

function show(element) {
  const at = new Date(element.dateTime);
  if (Number.isNaN(at.getTime())) return;
  const ago = "ago" in element.dataset ? agoText(at.getTime(), Date.now()) : null;
  const format = "ago" in element.dataset || element.dataset.only === "day" ? day : full;
  // British English shortens September differently from all other dates in the console.
  element.textContent = ago ?? format.format(at).replace(/\bSept\b/, "Sep");
  element.title = zoned.format(at);
  element.dataset.local = "";
}

/** Shows every <time> in the reader's time zone. */
export function localTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]:not([data-local])")) show(element);
}

setInterval(() => {
  for (const element of document.querySelectorAll("time[data-ago]")) show(element);
}, MINUTE_MS);
