/*
 * The settings pages: reads an image and puts it into the form as text, and shows only the fields of the chosen kind of
 * key.
 */
const BYTES_MAX = 64 * 1024;

for (const chooser of document.querySelectorAll("input[data-logo]")) {
  chooser.addEventListener("change", () => {
    const field = document.getElementById(chooser.dataset.logo);
    const [file] = chooser.files;
    field.value = "";
    chooser.setCustomValidity("");
    if (!file) return;
    if (file.size > BYTES_MAX) {
      chooser.setCustomValidity("This image is larger than 64 KiB.");
      chooser.reportValidity();
      return;
    }
    const reader = new FileReader();
    reader.addEventListener("load", () => (field.value = reader.result));
    reader.readAsDataURL(file);
  });
}

const kind = document.getElementById("type");
function showKind() {
  for (const part of document.querySelectorAll("[data-kind]")) part.hidden = part.dataset.kind !== kind.value;
}
if (kind) {
  kind.addEventListener("change", showKind);
  showKind();
}
