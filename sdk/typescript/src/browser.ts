// The context of a page, for responses from browsers.

import type { Context } from "./types.js";

/** The address, the language and the user agent of this page. Outside of a page it is empty. */
export function browserContext(): Context {
  if (typeof document === "undefined") return {};
  const { pathname: path, search } = location;
  const { language: locale, userAgent } = navigator;
  return { page: { path, referrer: document.referrer, search }, locale, userAgent };
}
