// A node as a card, in three sizes: a tile, a cell for each claim, a line for each claim.

import { bar, count, h, svg } from "./dom.js";
import { nameOf, namespaceOf } from "./store.js";

const LINE = 24; // pixels, as in style.css: what a card that is not drawn yet will take
const HEAD = 44;
const LINK = 40;
const PIPS_MAX = 64; // shares that are drawn one by one

export function heightOf(store, node, size) {
  if (size === "s") return 58;
  let height = HEAD + 10;
  for (const key of node.links) {
    const claims = store.links.get(key).claims.length;
    height += LINK + (size === "l" ? claims * LINE : Math.ceil(claims / 24) * 14);
  }
  return height;
}

export function cardParts(store, node, size, filter) {
  return size === "s" ? tile(store, node) : full(store, node, size, filter);
}

function title(store, node) {
  const piece = store.get(node.key);
  const said = [
    !piece && store.of.node.length > 0 && "unknown", // not where nodes may not be listed
    piece?.ready === false && "not Ready", piece?.cordoned && "cordoned",
  ].filter(Boolean);
  return h("div", { class: "name" }, mark(node.worst || (piece?.ready === false ? "error" : "")),
    h("b", {}, node.name), said.length ? h("em", {}, said.join(", ")) : null);
}

function tile(store, node) {
  const bars = node.links.map((key) => {
    const link = store.get(key);
    if (!link) return null;
    const part = Math.max(0, ...(link.amounts ?? []).map((one) => one.part ?? 0),
      link.state === "used" ? 1 : 0);
    const bad = store.mood(key) === "bad" ? " bad" : "";
    const strip = bar(part, `${link.name}: ${link.state}, ${count(link.claims ?? 0, "claim")}`);
    strip.className += bad;
    return strip;
  });
  return [title(store, node), h("div", { class: "strips" }, bars),
    h("small", {}, `${count(node.links.length, "link")} · ${count(node.claims.size, "claim")}`)];
}

function full(store, node, size, filter) {
  const pods = node.pods.length;
  const head = h("div", { class: "top" }, title(store, node),
    h("small", {}, node.links.length ? `${count(node.claims.size, "claim")} · ${count(pods, "pod")}` : "no links"));
  const whole = filter.leavesNode(node);
  const links = node.links.map((key) => linkPart(store, key, size, filter, whole)).filter(Boolean);
  return [head, h("div", { role: "group", class: "links" }, links)];
}

function linkPart(store, key, size, filter, whole) {
  const found = store.links.get(key);
  const all = whole || filter.leavesLink(key);
  const claims = found.claims.filter((one) => all || filter.leavesRow(one));
  if (!all && !claims.length) return null;
  const inner = size === "l" ? lines(store, key, claims) : [cells(store, claims)];
  return h("div", { class: "link" }, linkHead(store, key, found),
    claims.length ? h("div", { role: "group", class: size === "l" ? "lines" : "cells" }, inner) : null);
}

function linkHead(store, key, found) {
  const link = store.get(key) ?? { name: nameOf(key), state: store.of.link.length ? "in a pod" : "not visible", about: [] };
  const worst = store.worst(key) || (link.taints?.length ? "warning" : "");
  const amounts = (link.amounts ?? []).filter((one) => !isShares(one));
  const shares = (link.amounts ?? []).find(isShares);
  const words = [...(link.about ?? [])];
  const state = link.shareable && link.state === "shared" ? "" : link.state;
  return h("div", item(key, 2, `port ${store.mood(key)}`, `link ${link.name}, ${link.state}`),
    port(found.claims.length > 0 || link.state === "used"), h("b", {}, link.name),
    state ? h("span", { class: `state ${link.state}` }, state) : null, mark(worst),
    h("span", { class: "about" }, words.join(" · ")),
    h("span", { class: "amounts" },
      amounts.map((one) => h("span", { class: "amount" },
        bar(one.part ?? 0, `${one.name}: ${one.used} of ${one.total}`),
        h("small", {}, `${one.used} / ${one.total}`))),
      shares ? pips(shares) : null));
}

const isShares = (one) => one.name === "attachments" && Number(one.total) > 0;

// The shares of a link, one by one if there are not too many.
function pips(shares) {
  const total = Number(shares.total);
  const used = Number(shares.used);
  const label = `${shares.used} of ${shares.total} shares used`;
  if (total > PIPS_MAX) return bar(shares.part ?? 0, label);
  const wide = 4;
  const shown = [];
  for (let at = 0; at < total; at++) {
    const x = (at % 32) * (wide + 1);
    const y = Math.floor(at / 32) * 7;
    shown.push(svg("rect", { x, y, width: wide, height: 6, rx: 1, class: at < used ? "on" : "" }));
  }
  const width = Math.min(total, 32) * (wide + 1);
  const height = Math.ceil(total / 32) * 7;
  const drawn = svg("svg", { class: "pips", width, height, role: "img", "aria-label": label }, shown,
    svg("title", {}, label));
  return h("span", { class: "amount" }, drawn, h("small", {}, `${used} / ${total}`));
}

function port(on) {
  return svg("svg", { class: "socket", width: 14, height: 14, "aria-hidden": "true" },
    svg("rect", { x: 1.5, y: 2.5, width: 11, height: 9, rx: 2 }),
    svg("path", { d: "M4.5 5.5v3M7 5.5v3M9.5 5.5v3", class: on ? "on" : "" }));
}

function lines(store, link, claims) {
  return claims.map((key, at) => line(store, link, key, at === claims.length - 1));
}

// One claim on its link: the wire in the colour of its network, the claim, and the pods on it.
function line(store, link, key, last) {
  const claim = store.get(key);
  const pods = store.podsOf.get(key) ?? [];
  const hue = store.hue(claim.network);
  const first = pods[0] ?? key;
  const face = pods.length ? podWords(store, pods, key) : [h("span", { class: "dim" }, "no pod")];
  const share = (claim.devices ?? []).find((one) => one.link === link)?.amounts ?? [];
  const part = share.filter(([name]) => name !== "attachments").map(([, text]) => text).join(" ");
  return h("div", item(first, 3, `line ${hue} ${store.mood(first)}`, spoken(store, key, pods)),
    svg("svg", { class: "wire", width: 34, height: LINE, "aria-hidden": "true" },
      svg("path", { d: last ? `M7 0V${LINE / 2}H22` : `M7 0V${LINE}M7 ${LINE / 2}H22` }),
      svg("path", { d: `M22 7l5 5-5 5-5-5z`, class: "gem", "data-key": key })),
    face, part ? h("small", { class: "share" }, part) : null);
}

function podWords(store, pods, claim) {
  const pod = store.get(pods[0]);
  const own = (pod.interfaces ?? []).find((one) => one.claim === claim);
  const more = pods.length > 1 ? h("span", { class: "dim" }, `and ${count(pods.length - 1, "pod")} more`) : null;
  const ips = own ? (own.ips ?? []).map((ip) => ip.split("/")[0]).join(" ") : "";
  return [
    h("i", { class: `dot ${store.mood(pods[0])}` }),
    h("span", { class: "pod" }, h("span", { class: "space" }, `${namespaceOf(pods[0])}/`), nameOf(pods[0])),
    more,
    own ? h("span", { class: "face" }, own.name, ips ? h("span", { class: "ip" }, ips) : null)
      : h("span", { class: "face dim" }, pod.state === "Ready" ? "" : pod.waiting ?? ""),
  ];
}

function spoken(store, claim, pods) {
  const who = pods.length ? `pod ${pods.map(nameOf).join(", ")}` : "no pod";
  const state = pods.length ? store.get(pods[0]).state : store.get(claim).state;
  return `${who}, claim ${nameOf(claim)}, ${state}`;
}

function cells(store, claims) {
  return claims.map((key) => {
    const pods = store.podsOf.get(key) ?? [];
    const first = pods[0] ?? key;
    const label = spoken(store, key, pods);
    const mood = pods.length ? store.mood(pods[0]) : store.mood(key);
    return h("div", { ...item(first, 3, `cell ${store.hue(store.get(key).network)} ${mood}`, label), title: label });
  });
}

export function item(key, level, name, label) {
  return {
    class: name, role: "treeitem", tabindex: "-1", "data-key": key, "aria-level": level, "aria-label": label,
  };
}

// A sign for a problem, in shape as well as in colour.
export function mark(severity) {
  if (!severity) return null;
  const shape = severity === "error"
    ? svg("path", { d: "M4 1h6l3 3v6l-3 3H4l-3-3V4z" }) : svg("path", { d: "M7 1.5l6 11H1z" });
  return svg("svg", { class: `mark ${severity}`, width: 14, height: 14, role: "img", "aria-label": severity },
    shape, svg("path", { d: "M7 5v3.4M7 10.2v.6", class: "stroke" }));
}
