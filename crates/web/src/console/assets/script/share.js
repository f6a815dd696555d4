/*
 * Sharing: a file of people is read into the form, where it can be looked at before it is sent.
 */

const people = document.getElementById("people");
const file = document.getElementById("file");

if (people && file) {
  file.closest("[data-file]").hidden = false;
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    if (!chosen) return;
    people.value = await chosen.text();
    document.getElementById("said").textContent = `${chosen.name} was read. Send the form to make the links.`;
    people.focus();
  });
}

// The link is copied by hand most often: a click takes all of it.
document.getElementById("link")?.addEventListener("focus", (event) => event.target.select());
