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
    people.dispatchEvent(new Event("input"));
    document.getElementById("announcer").textContent = `${chosen.name} was loaded. Submit the form to create the invitations.`;
    people.focus();
  });
}

// User IDs alone have no address to send to.
const byMail = document.querySelector("input[name=mail]");
if (people && byMail) {
  let isDecided = false;
  byMail.addEventListener("change", () => (isDecided = true));
  people.addEventListener("input", () => {
    if (!isDecided) byMail.checked = people.value.trim() === "" || people.value.includes("@");
  });
}

// A click selects the whole link, for copying by hand.
document.getElementById("link")?.addEventListener("focus", (event) => event.target.select());
