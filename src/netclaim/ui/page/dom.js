// Elements, made of text and attributes only: nothing is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

// h("button", {class: "row", "data-key": key, onclick: open}, "text", child, …); null is left out.
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined));
  return element;
}

// How much of something is used, as a bar; a part of 0.9 or more is nearly full.
export function bar(part, label) {
  const inner = h("i", {});
  inner.style.width = `${Math.round(part * 1000) / 10}%`;
  const full = part >= 0.9 ? " full" : "";
  return h("span", { class: `bar${full}`, role: "img", "aria-label": label, title: label }, inner);
}

export const count = (number, word, words = `${word}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? word : words}`;

// Replace the children of an element and keep the focus on what has the same key.
export function redraw(element, ...children) {
  const focused = element.contains(document.activeElement) && document.activeElement;
  const key = focused && focused.dataset.key;
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (!focused || element.contains(focused)) return;
  const again = key && element.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (again) again.focus({ preventScroll: true });
}
