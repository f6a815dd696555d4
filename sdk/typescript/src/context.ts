// The context of a page, for responses from browsers.

import type { Context } from "./types.js";

/** The address, the language and the user agent of this page. Outside of a browser it is empty. */
export function browserContext(): Context {
  const { document, location, navigator } = globalThis as { document?: Document; location?: Location; navigator?: Navigator };
  if (!document || !location) return {};
  return {
    page: { path: location.pathname, referrer: document.referrer, search: location.search },
    ...(navigator && { locale: navigator.language, userAgent: navigator.userAgent }),
  };
}
