// 7 of 10: requests to the server, and showing its replies.

function ask(address, options = {}) {
  const proof = token ? { Authorization: `Bearer ${token}` } : {};
  return fetch(address, { ...options, headers: { "Sluice-Script": "1", ...proof } });
}

const parsed = async (reply) => new DOMParser().parseFromString(await reply.text(), "text/html");

/** The texts of a page, without its form. */
async function textOf(reply) {
  const texts = (await parsed(reply)).querySelectorAll("#page > h1, #page > p");
  return [...texts].map((each) => each.textContent.trim()).join(" ");
}

/** What a refusal for too many requests means, and when to try again. */
function limitedText(reply, words) {
  const seconds = Number(reply.headers.get("Retry-After")) || 60;
  const [unit, size] = seconds < 120 ? ["seconds", 1] : seconds < 7200 ? ["minutes", 60] : ["hours", 3600];
  return fill(words.limited, { wait: plural(words.wait[unit], Math.ceil(seconds / size)) });
}

/** Replaces this page with the page of a reply. Returns whether it was a page. */
async function swap(reply, isQuiet) {
  const next = await parsed(reply);
  const main = next.getElementById("page");
  if (!main) return false;
  document.title = next.title;
  // The form may be in another language than the page that requested a token.
  const { lang, dir } = next.documentElement;
  Object.assign(document.documentElement, { lang, dir });
  document.getElementById("page").replaceWith(main);
  scrollTo(0, 0);
  arrive(main, isQuiet ? null : reply);
  return true;
}

/** Resolves after a delay, or when the browser is online again. */
function pause(ms) {
  return new Promise((done) => {
    setTimeout(done, ms);
    addEventListener("online", () => done(), { once: true });
  });
}
