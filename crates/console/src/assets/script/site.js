/*
 * Addresses of this service, which may be below a path of its host. This file is at
 * console/assets/{version}/site.js.
 */

const ROOT = new URL("../../../", import.meta.url).pathname;

/** The address of a path of the service, such as "console/search". */
export const siteAddress = (path) => `${ROOT}${path}`;
