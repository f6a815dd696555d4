/*
 * The results: filters apply immediately, charts are downloaded as PNG, the page is printed as a
 * report.
 */

/** The PNG has double resolution, so that it is sharp in a presentation. */
const FINENESS = 2;

/** Renders the SVG at an address on a canvas and downloads it as PNG. */
async function savePicture(address, name) {
  const text = await (await fetch(address)).text();
  const source = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.naturalWidth * FINENESS;
    canvas.height = image.naturalHeight * FINENESS;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const picture = await new Promise((done) => canvas.toBlob(done, "image/png"));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(picture);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  } finally {
    URL.revokeObjectURL(source);
  }
}

for (const button of document.querySelectorAll("[data-png], [data-print]")) button.hidden = false;
for (const form of document.querySelectorAll("form[data-send]")) {
  form.querySelector("button[type=submit]").hidden = true;
  form.addEventListener("change", () => form.requestSubmit());
  // Leave unused filters out of the address.
  form.addEventListener("formdata", (event) => {
    for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
  });
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (button?.hasAttribute("data-print")) print();
  if (!button?.dataset.png) return;
  const announcer = document.getElementById("announcer");
  button.disabled = true;
  try {
    await savePicture(button.dataset.png, button.dataset.name);
    announcer.textContent = "Saved as PNG.";
  } catch {
    announcer.textContent = "The PNG could not be created. Download the SVG instead.";
  } finally {
    button.disabled = false;
  }
});

// The index closes after a choice; where it is always visible, that changes nothing.
document.querySelector(".index")?.addEventListener("click", (event) => {
  if (event.target.closest("a")) event.target.closest("details").open = false;
});

// Open all tables for printing, and close them afterwards.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details.chart-table:not([open]), details.wordings:not([open])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
  opened = [];
});
