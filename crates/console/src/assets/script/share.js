/*
 * Sharing: reads a file of people into the form, so that it can be checked before it is sent.
 */

const people = document.getElementById("people");
const file = document.getElementById("file");

if (people && file) {
  file.closest("[data-file]").hidden = false;
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    if (!chosen) return;
    people.value = await chosen.text();
    document.getElementById("announcer").textContent = `${chosen.name} was loaded. Submit the form to create the invitations.`;
    people.focus();
  });
}

// A click selects the whole link, for copying by hand.
document.getElementById("link")?.addEventListener("focus", (event) => event.target.select());
