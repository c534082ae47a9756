// The map: what waits for a node, then the nodes, those with problems first. A card is drawn while
// it is near the window, and only its place is kept otherwise.

import { count, h, redraw } from "./dom.js";
import { cardParts, heightOf, item, mark } from "./card.js";
import { kindOf, nameOf, namespaceOf } from "./store.js";

const NEAR = "800px"; // of the window's edge: about a screen
const LARGE_MAX = 24; // nodes that are drawn in full by default
const MEDIUM_MAX = 150;
const WAITING_MAX = 100; // lines; the others are counted, and in the table
const RANK = { error: 0, warning: 1, "": 2 };

export class MapView {
  constructor(element, store, open) {
    this.element = element;
    this.store = store;
    this.cards = new Map(); // by the node's name: {element, near}
    this.waiting = h("div", { class: "waiting", hidden: true });
    this.grid = h("div", { class: "grid", role: "tree", "aria-label": "Nodes, their links, claims and pods" });
    this.empty = h("p", { class: "empty", hidden: true });
    element.append(this.waiting, this.grid, this.empty);
    this.observer = new IntersectionObserver((seen) => this.see(seen), { rootMargin: NEAR });
    element.addEventListener("click", (event) => {
      const found = event.target.closest("[data-key]");
      if (found) {
        this.point(found.closest("[role=treeitem]") ?? found);
        open(found.dataset.key);
      }
    });
    element.addEventListener("keydown", (event) => this.key(event, open));
  }

  // Draw everything that changed; `touched` are the names of nodes, null means all.
  draw(filter, size, touched) {
    const nodes = [...this.store.nodes.values()].filter((one) => filter.shows(one));
    this.filter = filter;
    const chosen = size || (nodes.length <= LARGE_MAX ? "l" : nodes.length <= MEDIUM_MAX ? "m" : "s");
    const again = touched === null || chosen !== this.size;
    this.size = chosen;
    nodes.sort((a, b) => RANK[a.worst] - RANK[b.worst] || Number(!a.claims.size) - Number(!b.claims.size) ||
      a.name.localeCompare(b.name, "en", { numeric: true }));
    this.drawWaiting();
    this.order(nodes, again ? null : touched);
    this.empty.hidden = nodes.length > 0 || !this.waiting.hidden;
    this.empty.textContent = filter.on ? "Nothing matches." : "There are no nodes.";
    if (!this.element.querySelector("[role=treeitem][tabindex='0']")) this.point(this.last() ?? this.items()[0], false);
    return chosen;
  }

  order(nodes, touched) {
    const wanted = new Map(nodes.map((one) => [one.name, one]));
    for (const [name, card] of this.cards) {
      if (wanted.has(name)) continue;
      this.observer.unobserve(card.element);
      card.element.remove();
      this.cards.delete(name);
    }
    this.grid.className = `grid size-${this.size}`;
    let at = 0;
    for (const node of nodes) {
      let card = this.cards.get(node.name);
      const fresh = !card;
      if (fresh) {
        card = { element: h("div", { "data-node": node.name }), near: false, drawn: false };
        this.cards.set(node.name, card);
      }
      if (this.grid.children[at] !== card.element) this.grid.insertBefore(card.element, this.grid.children[at] ?? null);
      if (fresh || touched === null || touched.has(node.name)) this.dress(card, node);
      if (fresh) this.observer.observe(card.element);
      at++;
    }
  }

  dress(card, node) {
    const { element } = card;
    const said = `node ${node.name}, ${count(node.links.length, "link")}, ${count(node.claims.size, "claim")}` +
      (node.worst ? `, ${node.worst}` : "");
    const props = item(node.key, 1, `card ${node.worst}`, said);
    props.tabindex = element.getAttribute("tabindex") ?? "-1";
    for (const [name, value] of Object.entries(props)) element.setAttribute(name, value);
    element.style.minHeight = `${heightOf(this.store, node, this.size)}px`;
    card.drawn = false;
    if (card.near) this.paint(card, node);
  }

  paint(card, node) {
    redraw(card.element, cardParts(this.store, node, this.size, this.filter));
    card.element.style.minHeight = "";
    card.drawn = true;
  }

  see(seen) {
    for (const { target, isIntersecting } of seen) {
      const card = this.cards.get(target.dataset.node);
      const node = this.store.nodes.get(target.dataset.node);
      if (!card || !node) continue;
      card.near = isIntersecting;
      if (isIntersecting && !card.drawn) this.paint(card, node);
      else if (!isIntersecting && card.drawn && !target.contains(document.activeElement)) {
        target.style.minHeight = `${target.offsetHeight}px`;
        target.replaceChildren();
        card.drawn = false;
      }
    }
  }

  drawWaiting() {
    const keys = this.store.waiting.filter((one) => this.filter.leaves(one));
    this.waiting.hidden = !keys.length;
    if (!keys.length) return redraw(this.waiting);
    const more = keys.length - WAITING_MAX;
    redraw(this.waiting, h("h2", {}, "Waiting for a node ", h("small", {}, keys.length.toLocaleString("en"))),
      h("div", { role: "tree", "aria-label": "Pods and claims that wait for a node", class: "queue" },
        keys.slice(0, WAITING_MAX).map((key) => this.waitingLine(key))),
      more > 0 ? h("p", { class: "dim" }, `${count(more, "more", "more")}; the table has them all`) : null);
  }

  waitingLine(key) {
    const piece = this.store.get(key);
    const what = kindOf(key) === "pod" ? piece.waiting ?? "" : "claim without a device, and no pod uses it";
    return h("div", item(key, 1, `queued ${this.store.mood(key)}`, `${kindOf(key)} ${nameOf(key)} waits: ${what}`),
      mark(this.store.worst(key)) ?? h("i", { class: `dot ${this.store.mood(key)}` }),
      h("span", { class: "pod" }, h("span", { class: "space" }, `${namespaceOf(key)}/`), nameOf(key)),
      h("span", { class: "why" }, what));
  }

  // Show which one is open, and what belongs to it.
  select(key) {
    for (const one of this.element.querySelectorAll(".open, .kin")) {
      one.classList.remove("open", "kin");
      one.removeAttribute("aria-current");
    }
    if (!key) return;
    for (const one of this.element.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)) {
      const owner = one.closest("[role=treeitem]") ?? one;
      owner.classList.add("open");
      owner.setAttribute("aria-current", "true");
    }
  }

  // Bring something into the window, where it is drawn.
  show(key) {
    const [name] = this.store.nodesOf(key);
    const card = this.cards.get(name);
    const node = this.store.nodes.get(name);
    if (card && node && !card.drawn) this.paint(card, node);
    const found = this.element.querySelector(`[data-key="${CSS.escape(key)}"]`) ?? card?.element;
    found?.scrollIntoView({ block: "nearest" });
  }

  items() {
    return [...this.element.querySelectorAll("[role=treeitem]")];
  }

  // What Tab led to before it was drawn again.
  last() {
    return this.pointed && this.element.querySelector(`[role=treeitem][data-key="${CSS.escape(this.pointed)}"]`);
  }

  // Move the one place that Tab leads to.
  point(found, focus = true) {
    if (!found) return;
    this.pointed = found.dataset.key;
    for (const one of this.element.querySelectorAll("[role=treeitem][tabindex='0']")) one.setAttribute("tabindex", "-1");
    found.setAttribute("tabindex", "0");
    if (focus) found.focus();
  }

  key(event, open) {
    const here = event.target.closest("[role=treeitem]");
    if (!here || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return open(here.dataset.key);
    }
    const to = this.neighbour(here, event.key);
    if (to === undefined) return;
    event.preventDefault();
    this.point(to);
    to?.scrollIntoView({ block: "nearest" });
  }

  neighbour(here, key) {
    const items = this.items();
    const at = items.indexOf(here);
    const level = Number(here.getAttribute("aria-level"));
    const inside = (one) => Number(one.getAttribute("aria-level"));
    switch (key) {
      case "ArrowDown": return items[at + 1] ?? null;
      case "ArrowUp": return items[at - 1] ?? null;
      case "ArrowRight": return items[at + 1] && inside(items[at + 1]) > level ? items[at + 1] : null;
      case "ArrowLeft": return items.slice(0, at).reverse().find((one) => inside(one) < level) ?? null;
      case "Home": return items[0];
      case "End": return items.at(-1);
    }
    return undefined;
  }
}
