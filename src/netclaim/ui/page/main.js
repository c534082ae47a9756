// The page put together: what arrives is drawn once a frame, where it changed.

import { DetailView } from "./detail.js";
import { bar, count, h, redraw } from "./dom.js";
import { Filter, STATES } from "./filter.js";
import { mark } from "./card.js";
import { MapView } from "./map.js";
import { Route } from "./route.js";
import { follow } from "./session.js";
import { Store, nameOf } from "./store.js";
import { TableView } from "./table.js";

const SAY_MS = 1500; // a screen reader is told at most this often
const TYPE_MS = 120; // between keys, before the search is drawn
const PROBLEMS_MAX = 30; // lines; the others are counted
const NODES_MAX = 500; // in the choice of nodes; the search finds the others

const $ = (id) => document.getElementById(id);
const store = new Store();
const route = new Route(() => draw(null));
const map = new MapView($("map"), store, open);
const table = new TableView($("table"), store, route, open);
const detail = new DetailView($("detail"), store, open, (changes) => route.set({ ...changes, view: "map" }));
let back = null; // the key of what had the focus before the details
let pending = null; // the keys that changed since the last frame; null: none
let ready = false;

function open(key) {
  if (key && !route.open) back = document.activeElement?.dataset.key ?? "";
  route.set({ open: key });
  if (key || back === null) return;
  const where = `[data-key="${CSS.escape(back)}"]`; // it may have been drawn again
  const found = document.querySelector(`main [role=treeitem]${where}, aside button${where}`);
  (found ?? (route.view === "table" ? $("table").querySelector(".body") : $("main"))).focus({ preventScroll: true });
  back = null;
}

// Draw; `touched` are the names of nodes that changed, null means everything.
function draw(touched) {
  const filter = new Filter(store, route);
  const asTable = route.view === "table";
  $("map").hidden = asTable;
  $("table").hidden = !asTable;
  $("sizes").hidden = asTable;
  document.body.classList.toggle("as-table", asTable);
  press("as-map", !asTable);
  press("as-table", asTable);
  if (asTable) table.draw(filter);
  else {
    const size = map.draw(filter, route.size, touched);
    for (const one of $("sizes").children) one.setAttribute("aria-pressed", String(one.dataset.size === size));
  }
  drawSums(filter);
  drawProblems();
  drawNetworks();
  drawPools();
  drawFilters();
  const opened = detail.key !== route.open;
  if (opened) detail.show(route.open, true);
  map.select(route.open);
  if (opened && route.open && !asTable) map.show(route.open);
}

const press = (id, on) => $(id).setAttribute("aria-pressed", String(on));

function drawSums(filter) {
  const moods = { fine: 0, wait: 0, bad: 0 };
  const pods = store.of.pod.filter((key) => filter.leaves(key));
  for (const key of pods) {
    const mood = store.mood(key);
    if (mood in moods) moods[mood]++;
  }
  const sum = (left, all, word) => h("span", {}, filter.on ? `${left().toLocaleString("en")} of ${count(all.length, word)}` : count(all.length, word));
  const part = (mood, word) => moods[mood] ? h("span", { class: mood }, h("i", { class: `dot ${mood}` }), `${moods[mood].toLocaleString("en")} ${word}`) : null;
  redraw($("sums"),
    sum(() => store.of.node.filter((key) => filter.shows(store.nodes.get(nameOf(key)))).length, store.of.node, "node"),
    sum(() => store.of.link.filter((key) => filter.showsLink(key)).length, store.of.link, "link"),
    sum(() => store.of.claim.filter((key) => filter.leaves(key)).length, store.of.claim, "claim"),
    sum(() => pods.length, store.of.pod, "pod"),
    part("bad", "not ready"), part("wait", "waiting"), part("fine", "ready"));
}

function drawProblems() {
  const keys = store.problems;
  const list = $("problems").querySelector("div");
  redraw($("problems-title"), "Problems", keys.length ? h("small", {}, keys.length.toLocaleString("en")) : null);
  const shown = keys.slice(0, PROBLEMS_MAX).map((key) => {
    const one = store.get(key);
    const props = { class: `problem ${one.severity}`, "data-key": key, title: one.hint };
    const inner = [mark(one.severity), h("div", {}, h("b", {}, one.title), h("span", {}, one.message))];
    return one.about ? h("button", { ...props, type: "button", onclick: () => open(one.about) }, inner) : h("div", props, inner);
  });
  if (keys.length > PROBLEMS_MAX) shown.push(h("p", { class: "dim" }, `and ${count(keys.length - PROBLEMS_MAX, "more", "more")}`));
  redraw(list, shown.length ? shown : h("p", { class: "dim none" }, ready ? "None." : "…"));
}

function drawNetworks() {
  const rows = store.networks.map((key) => {
    const one = store.get(key);
    const on = route.net === key;
    return h("div", { class: `network ${store.hue(key)}${on ? " on" : ""}` },
      h("button", { type: "button", "data-key": `filter-${key}`, class: "swatch", "aria-pressed": String(on), title: on ? "Show all networks" : "Show only this network",
        "aria-label": `Show only ${one.name}`, onclick: () => route.set({ net: on ? "" : key }) }),
      h("button", { type: "button", "data-key": key, class: "name", onclick: () => open(key) }, one.name,
        h("small", {}, [one.kind, ...(one.about ?? [])].join(" · "))),
      h("span", { class: "number" }, (one.claims ?? 0).toLocaleString("en")), one.ready === false ? mark("warning") : null);
  });
  $("networks").hidden = !rows.length;
  redraw($("networks").querySelector("div"), rows);
  const notes = [store.head.fault && `The API server does not answer, so this may be old: ${store.head.fault}`, ...(store.head.notes ?? [])].filter(Boolean);
  redraw($("notes"), notes.map((one) => h("p", {}, one)));
}

function drawPools() {
  const rows = store.of.pool.sort().map((key) => {
    const one = store.get(key);
    const { used, total, part } = { used: "0", total: "0", part: 0, ...one.addresses };
    return h("div", { class: "pool" },
      h("button", { type: "button", "data-key": key, class: "name", onclick: () => open(key) }, nameOf(key),
        h("small", {}, [...(one.networks ?? []).map((net) => store.get(net)?.name), ...(one.ranges ?? [])].filter(Boolean).join(" · "))),
      bar(part, `${used} of ${total} addresses used`), h("span", { class: "number" }, `${used} / ${total}`),
      one.ready === false ? mark("error") : null);
  });
  $("pools").hidden = !rows.length;
  redraw($("pools").querySelector("div"), rows);
}

function drawFilters() {
  choice("by-namespace", "ns", [["", "All"], ...[...store.namespaces].sort().map((one) => [one, one])]);
  const names = [...store.nodes.keys()].sort(new Intl.Collator("en", { numeric: true }).compare).slice(0, NODES_MAX);
  choice("by-node", "node", [["", "All"], ...names.map((one) => [one, one])]);
  choice("by-state", "state", Object.entries(STATES));
  $("clear").hidden = !route.filters;
  if (document.activeElement !== $("search")) $("search").value = route.q;
}

function choice(id, name, options) {
  const select = $(id);
  if (route[name] && !options.some(([value]) => value === route[name])) options.push([route[name], route[name]]);
  const said = JSON.stringify(options);
  if (select.dataset.said !== said) {
    select.dataset.said = said;
    select.replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
  }
  select.value = route[name];
}

// What arrives.

function take(name, data) {
  if (!pending) requestAnimationFrame(paint);
  pending ??= new Set();
  store.take(JSON.parse(data), name === "all", pending);
  pulse(store.head.fault ? "lost" : store.head.isLive ? "live" : "saved");
}

// Draw all that arrived since the last frame at once.
function paint() {
  const changed = pending;
  pending = null;
  const touched = store.settle(changed);
  if (ready) {
    draw(touched);
    say(changed);
    if (changed.has(route.open)) detail.refresh();
    return;
  }
  ready = true;
  $("source").textContent = store.head.source;
  document.title = `${store.head.source} · netclaim`;
  draw(null);
  performance.mark("first drawn");
  document.documentElement.dataset.ready = "yes";
}

const PULSES = {
  live: "live", saved: "saved file", lost: "connecting again", ended: "netclaim ui has ended; start it again and open its new address",
};

function pulse(state, why = "") {
  const text = why || PULSES[state];
  if ($("pulse").dataset.state === state && $("pulse").textContent === text) return;
  $("pulse").dataset.state = state;
  $("pulse").textContent = text;
}

let unsaid = new Set();
let saying = 0;

// Tell a screen reader what changed, not more often than it can be listened to.
function say(changed) {
  for (const key of changed) if (key.startsWith("pod/") || key.startsWith("problem/")) unsaid.add(key);
  if (saying || !unsaid.size) return;
  saying = setTimeout(() => {
    saying = 0;
    const pods = [...unsaid].filter((one) => one.startsWith("pod/") && store.get(one));
    const said = pods.length > 3 ? [`${count(pods.length, "pod")} changed`] : pods.map((one) => `pod ${nameOf(one)} is ${store.get(one).state}`);
    said.push(count(store.problems.length, "problem"));
    unsaid = new Set();
    $("live").textContent = said.join(", ");
  }, SAY_MS);
}

// What the user does.

let typing = 0;
$("search").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => route.set({ q: $("search").value.trim() }, { quietly: true }), TYPE_MS);
});
for (const [id, name] of [["by-namespace", "ns"], ["by-node", "node"], ["by-state", "state"]])
  $(id).addEventListener("change", () => route.set({ [name]: $(id).value }));
$("clear").addEventListener("click", () => {
  $("search").value = "";
  route.clear();
});
$("as-map").addEventListener("click", () => route.set({ view: "map" }));
$("as-table").addEventListener("click", () => route.set({ view: "table" }));
$("sizes").addEventListener("click", (event) => event.target.dataset.size && route.set({ size: event.target.dataset.size }));
$("skip").addEventListener("click", (event) => {
  event.preventDefault();
  (document.querySelector("#map [tabindex='0']") ?? $("main")).focus();
});
document.addEventListener("keydown", (event) => {
  const within = event.target.closest?.("input, select, textarea");
  if (event.key === "Escape" && event.target === $("search")) $("search").blur();
  if (event.key === "Escape" && !within && route.open) open("");
  if (within || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    $("search").focus();
    $("search").select();
  } else if (event.key === "m") route.set({ view: "map" });
  else if (event.key === "t") route.set({ view: "table" });
});

const THEMES = ["", "dark", "light"]; // as the system has it, first

function theme(next) {
  let chosen = "";
  try {
    if (next !== undefined) localStorage.setItem("theme", next);
    chosen = localStorage.getItem("theme") ?? "";
  } catch { /* a browser that keeps nothing */ }
  document.documentElement.dataset.theme = next ?? chosen;
  const words = { "": "Auto", dark: "Dark", light: "Light" };
  $("theme").textContent = words[document.documentElement.dataset.theme] ?? "Auto";
}

$("theme").addEventListener("click", () => {
  theme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);
});
theme();
follow(take, pulse);
