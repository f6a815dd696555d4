// Adds to the pages what needs a script: a button that copies a block of code, and one language for
// all samples of the reference, which is remembered. Without it, blocks are selected by hand and
// samples opened one by one.

const LANGUAGE = "sluice.docs.language";
const COPIED_MS = 2000;

for (const block of document.querySelectorAll(".code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    button.textContent = (await copied(block.querySelector("code"))) ? "Copied" : "Press Ctrl+C";
    setTimeout(() => { button.textContent = "Copy"; }, COPIED_MS);
  });
  block.append(button);
}

/**
 * Copies the text of an element. Over plain HTTP, browsers have no clipboard API: there it is
 * selected and copied.
 */
async function copied(element) {
  try {
    await navigator.clipboard.writeText(element.textContent.replace(/\n$/, ""));
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return document.execCommand("copy");
  }
}

const samples = [...document.querySelectorAll(".samples > details")];

function choose(language) {
  for (const sample of samples) if (sample.dataset.language === language) sample.open = true;
}

for (const sample of samples) {
  const summary = sample.querySelector("summary");
  summary.addEventListener("click", (event) => {
    event.preventDefault();
    // The samples above become longer or shorter; the one that was chosen stays in its place.
    const before = summary.getBoundingClientRect().top;
    choose(sample.dataset.language);
    scrollBy({ top: summary.getBoundingClientRect().top - before, behavior: "instant" });
    try { localStorage.setItem(LANGUAGE, sample.dataset.language); } catch { /* Storage is blocked: not remembered. */ }
  });
}

if (samples.length > 0) {
  let language = null;
  try { language = localStorage.getItem(LANGUAGE); } catch { /* Storage is blocked. */ }
  if (language && language !== samples[0].dataset.language) {
    choose(language);
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }
}
