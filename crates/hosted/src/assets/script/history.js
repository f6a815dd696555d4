// 6 of 10: every question is a step in the browser history.
//
// A state contains the question, its number of steps, and the previous question. In a frame the
// steps would be entries of the host's history, so only the page's Back button works there.

const isFramed = globalThis.window && window.parent !== window;

function remember(step, push) {
  if (isFramed) return;
  const { n = 0, step: from, from: before } = history.state ?? {};
  if (push) history.pushState({ step, from, n: n + 1 }, "");
  else history.replaceState({ step, from: before, n }, "");
}

/** The page's Back button uses the browser history, if that leads to the same question. */
function goBack(to, section) {
  if (!isFramed && history.state?.from === section.dataset.id) history.back();
  else to.show(section);
}

/**
 * After storing: removes the steps, so that one press of Back leaves; the address is the ending's.
 */
function settleHistory(address) {
  const rename = () => history.replaceState(null, "", address);
  const steps = history.state?.n ?? 0;
  if (isFramed || steps === 0) return rename();
  addEventListener("popstate", rename, { once: true });
  history.go(-steps);
}
