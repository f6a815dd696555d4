// What a reader sees of a page: the boxes of its visible texts.

import assert from "node:assert/strict";

/** Boxes of lines of text may touch by this much, in pixels: they include the space above and below the letters. */
const TOUCH_MAX = 2;

/** The box of every visible text of a page, cut to what its ancestors show, with the text. */
function boxesOfTexts() {
  const boxes = [];
  const add = (element, text, rects) => {
    for (const { left, top, right, bottom } of rects) {
      const box = { text, left, top, right, bottom };
      for (let it = element; it && it !== document.body; it = it.parentElement) {
        if (it instanceof SVGElement || getComputedStyle(it).overflow === "visible") continue;
        const edge = it.getBoundingClientRect();
        box.left = Math.max(box.left, edge.left);
        box.top = Math.max(box.top, edge.top);
        box.right = Math.min(box.right, edge.right);
        box.bottom = Math.min(box.bottom, edge.bottom);
      }
      if (box.right - box.left > 1 && box.bottom - box.top > 1) boxes.push(box);
    }
  };
  const isShown = (element) => element.checkVisibility({ contentVisibilityAuto: true, opacityProperty: true, visibilityProperty: true })
    && !element.closest(".unseen, option, script, style, noscript");
  const nodes = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    const element = node.parentElement;
    const text = node.data.trim();
    if (!text || !isShown(element)) continue;
    if (element instanceof SVGElement) {
      if (element.tagName === "text") add(element, text, [element.getBoundingClientRect()]);
      continue;
    }
    const range = document.createRange();
    range.selectNodeContents(node);
    add(element, text, range.getClientRects());
  }
  return boxes;
}

/** No two visible texts of a page overlap, and none is outside the screen. */
export async function checkTexts(page, what) {
  const boxes = await page.evaluate(boxesOfTexts);
  assert.ok(boxes.length > 50, `${what}: only ${boxes.length} texts are visible`);
  const screen = await page.evaluate(() => document.documentElement.clientWidth);
  const outside = boxes.filter((box) => box.left < -1 || box.right > screen + 1).map((box) => box.text);
  assert.deepEqual(outside, [], `${what}: outside the screen`);
  boxes.sort((one, other) => one.top - other.top);
  const overlaps = [];
  for (const [at, one] of boxes.entries()) {
    for (let next = at + 1; next < boxes.length && boxes[next].top < one.bottom - TOUCH_MAX; next += 1) {
      const other = boxes[next];
      const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (width > TOUCH_MAX && height > TOUCH_MAX) overlaps.push(`“${one.text}” and “${other.text}”`);
    }
  }
  assert.deepEqual(overlaps, [], `${what}: overlapping texts`);
}
