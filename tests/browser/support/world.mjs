// One real server and one real Chromium per test file, and the faults of either.
//
// Every page that a test opens is monitored: a script error, a violation of the page's content security
// policy, or a request to another server is a fault, and `close` throws all of them.

import { startServer } from "../../clients/server.mjs";
import { launch } from "./chromium.mjs";
import { WAIT_MS_MAX } from "./until.mjs";

export const SIZES = { phone: { width: 390, height: 780 }, desktop: { width: 1280, height: 800 } };

/** Whether to test every combination of theme, width and script, not only a few. */
export const EVERY_APPEARANCE = Boolean(process.env.SLUICE_EVERY_APPEARANCE);

const way = (size, script) => ({ script, size, toString: () => `${size}, ${script ? "with" : "without"} script` });
/** With and without JavaScript, on a desktop. */
export const DESKTOP_WAYS = [way("desktop", true), way("desktop", false)];
/** On a phone with JavaScript and on a desktop without, or with `SLUICE_EVERY_APPEARANCE` also the other two. */
export const WAYS = EVERY_APPEARANCE
  ? [way("phone", true), way("phone", false), ...DESKTOP_WAYS]
  : [way("phone", true), way("desktop", false)];

/** Options are those of `startServer`; by default, there is no limit of sends per address. */
export async function openWorld(options = {}) {
  const server = await startServer({ args: ["--hosted-sends-per-minute", "0"], ...options });
  const browser = await launch();
  return new World(server, browser);
}

/** A button that is clicked before its script has run does what it does without one; so every action waits for the whole page. */
async function actWhenLoaded(page) {
  await page.addInitScript(() => addEventListener("load", () => document.documentElement.setAttribute("data-loaded", "")));
  page.unloaded = page.locator("html:not([data-loaded])");
  await page.addLocatorHandler(page.unloaded, () => page.waitForLoadState("load"), { noWaitAfter: true });
}

class World {
  faults = [];
  /** Origins other than the server's that pages may call: those of the test hosts. */
  hosts = new Set();

  constructor(server, browser) {
    this.server = server;
    this.browser = browser;
  }

  /** A published flow of a new app without spam protection; its pages wait for the Next button. */
  async flow(definition, { app = {}, name = "Flow" } = {}) {
    const { appId, base } = await this.server.createApp(name);
    const hosted = { spamProtection: false, ...app.hosted };
    await this.server.admin("PATCH", `/apps/${appId}`, { ...app, hosted });
    const { flowId, flowVersionId } = await this.server.createFlow(appId, name, { title: name, autoAdvance: false, ...definition });
    return { appId, base, flowId, flowVersionId, path: `/f/${flowId}` };
  }

  /** Publishes another version of a flow, and returns its id. */
  async publish({ flowId }, definition) {
    await this.server.admin("PUT", `/flows/${flowId}/draft`, definition);
    return (await this.server.admin("POST", `/flows/${flowId}/publish`)).flowVersionId;
  }

  /** The names of all question types, from the schema of definitions. */
  async questionTypes() {
    const schema = await (await fetch(this.address("/schemas/definition.json"))).json();
    return schema.$defs.question.oneOf.map(({ properties }) => properties.type.const);
  }

  async responses({ flowId }) {
    return (await this.server.admin("GET", `/flows/${flowId}/responses?limit=100`)).items;
  }

  /** A new browser context that has opened a path of the server or an address. */
  async visit(path, { script = true, size = "desktop", theme = "light", ...more } = {}) {
    const context = await this.browser.newContext({
      javaScriptEnabled: script, viewport: SIZES[size], colorScheme: theme, reducedMotion: "reduce",
      hasTouch: size === "phone", isMobile: size === "phone", locale: "en-GB", timezoneId: "Europe/Berlin", ...more,
    });
    context.setDefaultTimeout(WAIT_MS_MAX);
    context.on("page", (page) => this.watch(page));
    const page = await context.newPage();
    page.isScripted = script;
    if (script) await actWhenLoaded(page);
    await page.goto(this.address(path));
    return page;
  }

  address(path) {
    return new URL(path, this.server.url).href;
  }

  watch(page) {
    page.on("pageerror", (error) => this.faults.push(`${page.url()}: ${error.stack}`));
    page.on("console", (message) => {
      // 4xx replies and lost connections are reported as well; tests cause them deliberately.
      const isNetwork = /Failed to load resource|net::ERR_/.test(message.text());
      if (message.type() === "error" && !isNetwork) this.faults.push(`${page.url()}: ${message.text()}`);
    });
    page.on("request", (request) => {
      const { origin } = new URL(request.url());
      const isOurs = origin === new URL(this.server.url).origin || this.hosts.has(origin) || origin === "null";
      if (!isOurs) this.faults.push(`${page.url()} asked ${request.url()}`);
    });
  }

  /** Returns and clears the faults so far, for a test that causes them deliberately. */
  takeFaults() {
    return this.faults.splice(0);
  }

  async close() {
    await this.browser.close();
    await this.server.stop();
    if (this.faults.length > 0) throw new Error(this.faults.join("\n"));
  }
}
