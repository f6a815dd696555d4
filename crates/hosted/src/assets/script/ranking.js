// 3 of 10: rankings are ordered by buttons and dragging; the position lists are sent.

function rank(section, words) {
  const list = section.querySelector(".ranking");
  const placeOf = (item) => item.querySelector("select");
  // An unconfirmed order is no answer, and a correct order needs no move, so there is a button to
  // confirm it.
  const keepOrder = element("button", { type: "button", className: "keep" }, words.order);
  const draw = () => {
    const items = [...list.children];
    // After a draft is restored, the positions are known but the order is not.
    const isRanked = items.every((item) => placeOf(item).value);
    if (isRanked) list.append(...items.sort((one, two) => placeOf(one).value - placeOf(two).value));
    for (const item of items) item.querySelector(".place").textContent = placeOf(item).value || "–";
    keepOrder.hidden = isRanked;
  };
  const settle = () => {
    [...list.children].forEach((item, at) => (placeOf(item).value = at + 1));
    draw();
    list.dispatchEvent(new Event("input", { bubbles: true }));
  };
  for (const item of list.children) {
    const label = item.querySelector(".label").textContent;
    const grip = element("span", { className: "grip", ariaHidden: "true" }, "⠿");
    placeOf(item).hidden = true;
    item.prepend(grip, element("span", { className: "place" }));
    for (const [name, sign, move] of [
      ["up", "↑", () => item.previousElementSibling?.before(item)],
      ["down", "↓", () => item.nextElementSibling?.after(item)],
    ]) {
      const button = element("button", { type: "button", ariaLabel: fill(words[name], { label }) }, sign);
      button.addEventListener("click", () => (move(), settle(), button.focus()));
      item.append(button);
    }
    drag(item, grip, settle);
  }
  list.ariaLive = "polite";
  list.after(keepOrder);
  keepOrder.addEventListener("click", settle);
  section.addEventListener("restored", draw);
  draw();
}

function drag(item, grip, settle) {
  const middle = (other) => other.getBoundingClientRect().top + other.offsetHeight / 2;
  grip.addEventListener("pointerdown", (down) => {
    down.preventDefault();
    grip.setPointerCapture(down.pointerId);
    item.classList.add("lifted");
    grip.onpointermove = ({ clientY }) => {
      const above = item.previousElementSibling;
      const below = item.nextElementSibling;
      if (above && clientY < middle(above)) above.before(item);
      else if (below && clientY > middle(below)) below.after(item);
      // A moved node loses the pointer capture.
      grip.setPointerCapture(down.pointerId);
    };
    grip.onpointerup = grip.onpointercancel = () => {
      grip.onpointermove = grip.onpointerup = grip.onpointercancel = null;
      item.classList.remove("lifted");
      settle();
    };
  });
}
