/*
 * Moving an item of a list by its grip, with a mouse, a pen or a finger. Keyboards use the buttons
 * and Alt with the arrow keys.
 */

/** Calls `moved` with the new position when the item is dropped at another one. */
export function draggable(item, grip, moved) {
  const middle = (other) => other.getBoundingClientRect().top + other.offsetHeight / 2;
  grip.addEventListener("pointerdown", (down) => {
    down.preventDefault();
    const from = [...item.parentElement.children].indexOf(item);
    grip.setPointerCapture(down.pointerId);
    item.classList.add("lifted");
    grip.onpointermove = ({ clientY }) => {
      const [above, below] = [item.previousElementSibling, item.nextElementSibling];
      if (above && clientY < middle(above)) above.before(item);
      else if (below && clientY > middle(below)) below.after(item);
      // A moved node loses the pointer capture.
      grip.setPointerCapture(down.pointerId);
    };
    grip.onpointerup = grip.onpointercancel = () => {
      grip.onpointermove = grip.onpointerup = grip.onpointercancel = null;
      item.classList.remove("lifted");
      const to = [...item.parentElement.children].indexOf(item);
      if (to !== from) moved(to);
    };
  });
}
