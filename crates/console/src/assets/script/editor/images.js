/*
 * The image of a question or an option: chosen, dropped or pasted as a file, with its alternative
 * text.
 *
 * The file goes to the server at once, and the draft gets only the id of what was stored. A file
 * that the server would refuse as too large is scaled down here first.
 */

import { siteAddress } from "../site.js";
import { announce, button, el, field, pointer } from "./dom.js";
import { typeIcon } from "./icons.js";

const TYPES = ["image/png", "image/jpeg", "image/webp"];
const BYTES_MAX = 2 * 1024 * 1024;
/** The longest side, in pixels: what the server accepts, and what it stores. */
const SIDE_MAX = 4096;
const STORED_SIDE_MAX = 2000;

const FRAME = { icon: "M5 4h14a1 1 0 0 1 1 1v14a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1zM4 16l5-5 9 9M15 9h.01" };

/** The first image among dropped or pasted files. */
const imageIn = (data) => [...(data?.files ?? [])].find(({ type }) => type.startsWith("image/"));

/**
 * The part of a form for an image. `path` leads to the question or option that has it, `of` names
 * that in labels. Files that are dropped or pasted into `area`, or else into the form around it,
 * are taken, too.
 */
export function imageEditor(draft, path, { area, of, isSmall, context }) {
  const owner = path.reduce((value, step) => value?.[step], draft.definition);
  const place = el("div", { className: isSmall ? "image-part small" : "image-part" });
  const key = (name) => ({ key: `${name}-${pointer(path)}` });
  const input = el("input", { type: "file", accept: TYPES.join(","), hidden: true, onchange: () => take(input.files[0]), aria: { label: `Image of ${of}` } });

  const draw = (...state) => place.replaceChildren(input, ...(owner?.image?.assetId ? shown() : empty()), ...state);

  function empty() {
    const choose = isSmall
      ? button("", () => input.click(), { className: "button small quiet", title: "Add an image", aria: { label: `Add an image to ${of}` }, data: key("image") })
      : button("", () => input.click(), { data: key("image") });
    choose.append(typeIcon(FRAME), ...(isSmall ? [] : ["Add an image"]));
    return isSmall ? [choose] : [choose, el("span", { className: "hint" }, "Or drop or paste one here: PNG, JPEG or WebP")];
  }

  function shown() {
    const { assetId, alt } = owner.image;
    const text = el("input", { className: "input", value: alt ?? "", oninput: () => draft.set([...path, "image", "alt"], text.value) });
    const labelled = field(isSmall ? `Alternative text of ${of}` : "Alternative text", text, {
      path: [...path, "image", "alt"], hint: isSmall ? undefined : "What the image shows, for people who cannot see it. Leave it empty for decoration.",
    });
    return [
      el("img", { src: siteAddress(`a/${assetId}`), alt: "", className: "image-thumb" }),
      el("div", { className: "image-text" }, labelled,
        el("div", { className: "buttons" },
          button("Replace", () => input.click(), { aria: { label: `Replace the image of ${of}` }, data: { ...key("replace"), pointer: pointer([...path, "image", "assetId"]) } }),
          button("Remove", remove, { className: "button small quiet", aria: { label: `Remove the image of ${of}` }, data: key("remove") }))),
    ];
  }

  function remove() {
    const { image } = owner;
    if (!image) return;
    delete owner.image;
    draft.changed();
    announce(`The image of ${of} was removed.`);
    document.querySelector(`[data-key="${CSS.escape(key("image").key)}"]`)?.focus();
  }

  const failed = (message) => {
    input.value = "";
    draw(el("p", { className: "error", role: "alert" }, message));
  };

  async function take(file) {
    if (!file) return;
    const bar = el("progress", { max: 1, value: 0, aria: { label: `Uploading the image of ${of}` } });
    draw(el("p", { className: "image-busy" }, bar, el("span", { className: "hint" }, "Uploading…")));
    const ready = await fitting(file).catch(() => null);
    if (!ready) return failed(`${file.name || "The file"} is not an image that can be used here. Choose a PNG, JPEG or WebP file.`);
    const { assetId, message } = await send(context.images, ready, (part) => (bar.value = part));
    if (!assetId) return failed(message);
    put(assetId);
  }

  /** Into the draft, unless the question or option was removed in the meantime. */
  function put(assetId) {
    const now = current(draft, owner, path);
    if (!now) return;
    const alt = now.image?.alt;
    now.image = alt ? { assetId, alt } : { assetId };
    draft.changed();
    announce(`The image of ${of} was added.`);
    document.querySelector(`[data-pointer="${CSS.escape(pointer([...path, "image", "alt"]))}"]`)?.focus();
  }

  // The whole form of a question, which is not there yet.
  if (area) receive(area, take);
  else queueMicrotask(() => receive(place.parentElement, take));
  draw();
  return place;
}

/** The same question or option after undoing or moving: the same object, or the one with its id. */
function current(draft, owner, [, , list]) {
  const all = list ? draft.questions.flatMap((question) => (Array.isArray(question[list]) ? question[list] : [])) : draft.questions;
  return all.find((each) => each === owner) ?? all.find((each) => each?.id === owner.id);
}

/** Takes files that are dropped or pasted into an element; the innermost one gets them. */
function receive(area, take) {
  const holdsFiles = ({ dataTransfer }) => [...(dataTransfer?.types ?? [])].includes("Files");
  area.addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    area.classList.add("receiving");
  });
  for (const name of ["dragleave", "drop"]) area.addEventListener(name, () => area.classList.remove("receiving"));
  area.addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    take(imageIn(event.dataTransfer) ?? event.dataTransfer.files[0]);
  });
  area.addEventListener("paste", (event) => {
    const file = imageIn(event.clipboardData);
    // A copied table or text may come with a picture of itself.
    if (!file || event.clipboardData.getData("text/plain")) return;
    event.preventDefault();
    event.stopPropagation();
    take(file);
  });
}

/** The file, or a smaller version of it if the server would refuse it as too large. */
export async function fitting(file) {
  const picture = await createImageBitmap(file);
  const longest = Math.max(picture.width, picture.height);
  if (TYPES.includes(file.type) && file.size <= BYTES_MAX && longest <= SIDE_MAX) return file;
  for (let side = Math.min(STORED_SIDE_MAX, longest); side >= 200; side = Math.round(side * 0.75)) {
    const scale = side / longest;
    const canvas = el("canvas", { width: Math.max(1, Math.round(picture.width * scale)), height: Math.max(1, Math.round(picture.height * scale)) });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    // WebP keeps transparency.
    const type = file.type === "image/jpeg" ? "image/jpeg" : "image/webp";
    const smaller = await new Promise((done) => canvas.toBlob(done, type, 0.9));
    if (smaller && smaller.size <= BYTES_MAX) return smaller;
  }
  return null;
}

/** Sends a file with progress; resolves to the id of what was stored, or to a message. */
export function send(to, file, progress) {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.open("POST", to);
    request.setRequestHeader("Content-Type", file.type);
    request.responseType = "json";
    request.upload.onprogress = ({ loaded, total }) => progress(total > 0 ? loaded / total : 0);
    request.onerror = () => done({ message: "The server cannot be reached. Try again when you are online." });
    request.onload = () => {
      const { response, responseURL, status } = request;
      if (response?.assetId || response?.message) return done(response);
      // A signed-out user is redirected to the sign-in page.
      const isSignedOut = status === 401 || !responseURL.endsWith(to);
      done({ message: isSignedOut ? "You are signed out. Sign in again in another tab, then try again." : "The image could not be stored. Try again." });
    };
    request.send(file);
  });
}
