// The same as a table. Only the rows in the window are drawn, however many there are.

import { bar, h, redraw } from "./dom.js";
import { mark } from "./card.js";
import { nameOf, namespaceOf, readiness } from "./store.js";

const ROW = 30; // pixels, as in style.css
const SPARE = 12; // rows drawn beyond the window

const state = (store, key) => [h("i", { class: `dot ${store.mood(key)}` }), store.get(key).state ?? ""];
const names = (keys) => (keys ?? []).map(nameOf).join(", ");
const linkName = (store, key) => store.get(key)?.name ?? nameOf(key);
const amount = (link, shares) => (link.amounts ?? []).find((one) => (one.name === "attachments") === shares);

// By kind: the heading of each column, what it shows of a key, and how wide it is.
const COLUMNS = {
  pod: [
    ["State", (s, k) => state(s, k), "7rem"],
    ["Namespace", (s, k) => namespaceOf(k), "minmax(6rem, .7fr)"],
    ["Pod", (s, k) => nameOf(k), "minmax(9rem, 1.3fr)"],
    ["Node", (s, k) => s.get(k).node ?? "", "minmax(7rem, 1fr)"],
    ["Interfaces", (s, k) => (s.get(k).interfaces ?? []).map((one) => [one.name, ...(one.ips ?? [])].join(" ")).join(", "), "minmax(9rem, 1.3fr)"],
    ["Waits for", (s, k) => s.get(k).waiting ?? "", "minmax(9rem, 2fr)"],
  ],
  claim: [
    ["State", (s, k) => state(s, k), "7rem"],
    ["Namespace", (s, k) => namespaceOf(k), "minmax(6rem, .7fr)"],
    ["Claim", (s, k) => nameOf(k), "minmax(9rem, 1.3fr)"],
    ["Network", (s, k) => s.get(s.get(k).network)?.name ?? "", "minmax(6rem, 1fr)"],
    ["Devices", (s, k) => (s.get(k).devices ?? []).map((one) => `${one.node ? `${one.node}/` : ""}${linkName(s, one.link)}`).join(", "), "minmax(9rem, 1.3fr)"],
    ["Pods", (s, k) => names(s.podsOf.get(k)), "minmax(7rem, 1fr)"],
    ["Message", (s, k) => s.get(k).message ?? "", "minmax(7rem, 1.4fr)"],
  ],
  link: [
    ["State", (s, k) => state(s, k), "7rem"],
    ["Node", (s, k) => s.get(k).node, "minmax(7rem, 1fr)"],
    ["Link", (s, k) => s.get(k).name, "minmax(6rem, 1fr)"],
    ["About", (s, k) => (s.get(k).about ?? []).join(", "), "minmax(7rem, 1fr)"],
    ["Bandwidth", (s, k) => gauge(amount(s.get(k), false)), "minmax(9rem, 1fr)"],
    ["Shares", (s, k) => gauge(amount(s.get(k), true)), "minmax(8rem, 1fr)"],
    ["Taints", (s, k) => (s.get(k).taints ?? []).join(", "), "minmax(6rem, 1fr)"],
  ],
  node: [
    ["State", (s, k) => [h("i", { class: `dot ${s.mood(k)}` }), readiness(s.get(k))], "7rem"],
    ["Node", (s, k) => nameOf(k), "minmax(9rem, 1.5fr)"],
    ["Links", (s, k) => s.nodes.get(nameOf(k)).links.length, "5rem"],
    ["Claims", (s, k) => s.nodes.get(nameOf(k)).claims.size, "5rem"],
    ["Pods", (s, k) => s.nodes.get(nameOf(k)).pods.length, "5rem"],
    ["Problems", (s, k) => mark(s.nodes.get(nameOf(k)).worst) ?? "", "6rem"],
  ],
  network: [
    ["Network", (s, k) => s.get(k).name, "minmax(9rem, 1.5fr)"],
    ["Kind", (s, k) => s.get(k).kind, "minmax(7rem, 1fr)"],
    ["About", (s, k) => (s.get(k).about ?? []).join(", "), "minmax(7rem, 1fr)"],
    ["Claims", (s, k) => s.get(k).claims ?? 0, "5rem"],
    ["Message", (s, k) => s.get(k).message ?? "", "minmax(7rem, 2fr)"],
  ],
  pool: [
    ["State", (s, k) => [h("i", { class: `dot ${s.mood(k)}` }), readiness(s.get(k))], "7rem"],
    ["Pool", (s, k) => nameOf(k), "minmax(8rem, 1fr)"],
    ["Addresses", (s, k) => gauge(s.get(k).addresses), "minmax(9rem, 1fr)"],
    ["Kept", (s, k) => s.get(k).kept ?? 0, "5rem"],
    ["Ranges", (s, k) => (s.get(k).ranges ?? []).join(", "), "minmax(9rem, 1.3fr)"],
    ["Networks", (s, k) => (s.get(k).networks ?? []).map((net) => s.get(net)?.name).filter(Boolean).join(", "), "minmax(7rem, 1fr)"],
    ["Message", (s, k) => s.get(k).message ?? "", "minmax(7rem, 1.4fr)"],
  ],
};
const TITLES = { pod: "Pods", claim: "Claims", link: "Links", node: "Nodes", network: "Networks", pool: "Address pools" };

function gauge(found) {
  return found ? [bar(found.part ?? 0, `${found.used} of ${found.total}`), h("small", {}, `${found.used ?? 0} / ${found.total}`)] : "";
}

export class TableView {
  constructor(element, store, route, open) {
    this.element = element;
    this.store = store;
    this.route = route;
    this.open = open;
    this.keys = [];
    this.sorted = { column: -1, up: true };
    this.tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "What the table lists" });
    this.head = h("div", { class: "row head", role: "row", "aria-rowindex": "1" });
    this.space = h("div", { class: "space", role: "rowgroup" });
    this.body = h("div", { class: "body", role: "grid", tabindex: "0" }, h("div", { role: "rowgroup", class: "heads" }, this.head), this.space);
    element.append(this.tabs, this.body);
    this.body.addEventListener("scroll", () => this.window());
    addEventListener("resize", () => this.window());
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.at = -1;
  }

  draw(filter) {
    const { store } = this;
    const kind = COLUMNS[this.route.kind] ? this.route.kind : "pod";
    if (kind !== this.kind) {
      this.sorted = { column: -1, up: true };
      this.at = -1;
    }
    this.kind = kind;
    this.columns = COLUMNS[kind];
    this.element.style.setProperty("--columns", this.columns.map((one) => one[2]).join(" "));
    const counts = {};
    for (const one in COLUMNS) {
      const left = this.left(one, filter);
      counts[one] = left.length;
      if (one === kind) this.keys = left;
    }
    redraw(this.tabs, Object.entries(TITLES).map(([one, title]) => h("button", {
      type: "button", role: "tab", "aria-selected": String(one === kind), "data-key": `tab-${one}`,
      onclick: () => this.route.set({ kind: one }),
    }, title, " ", h("small", {}, counts[one].toLocaleString("en")))));
    redraw(this.head, this.columns.map(([title], at) => h("button", {
      type: "button", role: "columnheader", "data-key": `column-${at}`,
      "aria-sort": this.sorted.column === at ? (this.sorted.up ? "ascending" : "descending") : "none",
      onclick: () => this.sort(at, filter),
    }, title)));
    this.body.setAttribute("aria-label", TITLES[kind]);
    this.body.setAttribute("aria-rowcount", this.keys.length + 1);
    this.arrange();
    this.space.style.height = `${this.keys.length * ROW}px`;
    this.window();
  }

  left(kind, filter) {
    const { store } = this;
    const keys = store.of[kind];
    if (!filter.on) return [...keys];
    if (kind === "link") return keys.filter((one) => filter.showsLink(one));
    if (kind === "node") return keys.filter((one) => filter.shows(store.nodes.get(nameOf(one))));
    if (kind === "network" || kind === "pool") return keys.filter((one) => filter.finds(one, store.get(one)));
    return keys.filter((one) => filter.leaves(one));
  }

  sort(column, filter) {
    this.sorted = { column, up: this.sorted.column === column ? !this.sorted.up : true };
    this.draw(filter);
  }

  arrange() {
    const { column, up } = this.sorted;
    if (column < 0) {
      const rank = { bad: 0, wait: 1, fine: 2, off: 3 };
      const of = new Map(this.keys.map((key) => [key, rank[this.store.mood(key)]]));
      this.keys.sort((a, b) => of.get(a) - of.get(b));
      return;
    }
    const text = new Map(this.keys.map((key) => [key, said(this.columns[column][1](this.store, key))]));
    const order = new Intl.Collator("en", { numeric: true }).compare;
    this.keys.sort((a, b) => order(text.get(a), text.get(b)) * (up ? 1 : -1));
  }

  window() {
    if (this.element.hidden) return;
    const first = Math.max(0, Math.floor(this.body.scrollTop / ROW) - SPARE);
    const last = Math.min(this.keys.length, first + Math.ceil(this.body.clientHeight / ROW) + 2 * SPARE);
    const rows = [];
    for (let at = first; at < last; at++) rows.push(this.row(at));
    redraw(this.space, rows);
  }

  row(at) {
    const key = this.keys[at];
    const chosen = key === this.route.open;
    const row = h("div", {
      class: `row${chosen ? " open" : ""}${at === this.at ? " at" : ""}`, role: "row", "aria-rowindex": at + 2, "data-key": key,
      "aria-selected": String(chosen), onclick: () => this.open(key),
    }, this.columns.map(([, show]) => h("div", { role: "gridcell" }, show(this.store, key))));
    row.style.top = `${at * ROW}px`;
    return row;
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12 }[event.key];
    if (step && event.target === this.body) {
      event.preventDefault();
      this.at = Math.max(0, Math.min(this.keys.length - 1, this.at + step));
      const top = this.at * ROW;
      const room = this.body.clientHeight - 2 * ROW;
      if (top < this.body.scrollTop) this.body.scrollTop = top;
      else if (top > this.body.scrollTop + room) this.body.scrollTop = top - room;
      this.window();
    } else if (event.key === "Enter" && event.target === this.body && this.keys[this.at]) this.open(this.keys[this.at]);
  }
}

function said(shown) {
  if (Array.isArray(shown)) return shown.map(said).join(" ");
  return shown instanceof Node ? shown.textContent || shown.getAttribute?.("aria-label") || "" : String(shown);
}

