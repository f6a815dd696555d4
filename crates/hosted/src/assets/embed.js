// A flow in another page that opens from a button: in the middle (popup) or at the edge (slide).
//
// Pages include it with one tag, which names the flow; docs/embed.md lists its attributes.
// Everything is in a shadow root with its own style sheet, so neither page changes the other, and
// no inline style needs a permission. Deliberately absent: a library, cookies, and any request
// before the flow is opened.

(() => {
  const script = document.currentScript;
  const { flow, kind = "popup", theme, label = "Feedback", close = "Close", query = "", after, button } = script.dataset;
  // The service may be below a path of its host: the script is in /f/assets there.
  const base = new URL("../..", script.src);
  const SEEN = `sluice:seen:${flow}`;
  const CSS = ":host{all:initial}"
    + "*{box-sizing:border-box}"
    + "button{border:0;font:600 1rem/1.5 system-ui,sans-serif;cursor:pointer}"
    + ":focus-visible{outline:3px solid #777;outline-offset:2px}"
    + ".opener{position:fixed;inset-block-end:1.25rem;inset-inline-end:1.25rem;z-index:2147483000;min-block-size:3rem;padding:.5rem 1.25rem;border-radius:2rem;background:var(--sluice-background,#0f6b73);color:var(--sluice-color,#fff);box-shadow:0 .25rem 1rem rgb(0 0 0/.25)}"
    + "dialog{color-scheme:light dark;max-inline-size:none;padding:0;border:1px solid rgb(128 128 128/.4);border-radius:.75rem;background:#fbfbfa;background:light-dark(#fbfbfa,#131619);color:#1b1f23;color:light-dark(#1b1f23,#eceef0);box-shadow:0 1rem 3rem rgb(0 0 0/.3);overflow:auto}"
    + "[data-theme=light]{color-scheme:light}[data-theme=dark]{color-scheme:dark}"
    + ".popup{inline-size:min(42rem,100vw - 2rem);max-block-size:calc(100dvh - 2rem)}"
    + ".popup::backdrop{background:rgb(0 0 0/.5)}"
    + ".slide{position:fixed;inset:auto;inset-block-end:1.25rem;inset-inline-end:1.25rem;z-index:2147483001;margin:0;inline-size:min(26rem,100vw - 2.5rem);max-block-size:calc(100dvh - 2.5rem)}"
    + ".bar{position:sticky;inset-block-start:0;display:flex;justify-content:flex-end}"
    + ".closer{inline-size:2.75rem;block-size:2.75rem;border-radius:.75rem;background:none;color:inherit;font-size:1.5rem;line-height:1}"
    + "iframe{display:block;inline-size:100%;block-size:26rem;border:0}"
    + "@media(prefers-reduced-motion:no-preference){.slide[open]{animation:in .15s ease-out}@keyframes in{from{opacity:0;transform:translateY(1rem)}}}";

  const make = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  const opener = make("button", { type: "button", className: "opener", textContent: label });
  const closer = make("button", { type: "button", className: "closer", ariaLabel: close, textContent: "×" });
  const dialog = make("dialog", { className: kind === "slide" ? "slide" : "popup", ariaLabel: label }, make("div", { className: "bar" }, closer));
  if (theme) dialog.dataset.theme = theme;
  let frame;

  const store = (change) => { try { return change(localStorage) } catch { return null } };

  function open() {
    if (dialog.open) return;
    if (!frame) {
      const parameters = new URLSearchParams(query);
      parameters.set("embed", "1");
      if (theme) parameters.set("theme", theme);
      frame = make("iframe", { title: label, src: new URL(`f/${flow}?${parameters}`, base) });
      dialog.append(frame);
    }
    store((kept) => kept.setItem(SEEN, "1"));
    if (kind === "slide") dialog.show();
    else dialog.showModal();
    opener.hidden = kind === "slide";
  }

  opener.addEventListener("click", open);
  closer.addEventListener("click", () => dialog.close());
  dialog.addEventListener("keydown", ({ key }) => key === "Escape" && dialog.close());
  dialog.addEventListener("close", () => {
    opener.hidden = false;
    if (kind === "slide") opener.focus();
  });
  document.addEventListener("click", ({ target }) => target.closest?.(`[data-sluice-open="${flow}"]`) && open());
  addEventListener("message", ({ source, origin: from, data }) => {
    if (!frame || source !== frame.contentWindow || from !== base.origin) return;
    if (data?.type === "sluice:resize") frame.style.blockSize = `${data.height}px`;
  });

  const start = () => {
    const place = make("section", { className: "sluice-embed", ariaLabel: label });
    const root = place.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(CSS);
    root.adoptedStyleSheets = [sheet];
    if (button !== "none") root.append(opener);
    root.append(dialog);
    document.body.append(place);
    if (after && !store((kept) => kept.getItem(SEEN))) setTimeout(open, after * 1000);
  };
  if (document.body) start();
  else addEventListener("DOMContentLoaded", start);
})();
