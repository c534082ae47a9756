// What is known of one thing: facts, why it waits, events, YAML.

import { bar, count, h, redraw } from "./dom.js";
import { mark } from "./card.js";
import * as session from "./session.js";
import { kindOf, nameOf, namespaceOf, readiness } from "./store.js";
import { whyParts } from "./why.js";

const KINDS = { pod: "Pod", claim: "Claim", link: "Link", node: "Node", network: "Network", pool: "Address pool" };

export class DetailView {
  constructor(element, store, open, filterBy) {
    this.element = element;
    this.store = store;
    this.open = open;
    this.filterBy = filterBy;
    this.key = "";
    this.asked = 0;
    element.addEventListener("keydown", (event) => event.key === "Escape" && open(""));
  }

  // Show something else; an empty key shows nothing.
  show(key, focus) {
    const other = key !== this.key;
    this.key = key;
    this.element.hidden = !key;
    document.body.classList.toggle("detailed", Boolean(key));
    if (!key) return redraw(this.element);
    if (other) {
      this.facts = h("div", {});
      this.answers = h("div", { class: "answers" }, h("p", { class: "dim" }, "…"));
      const gone = h("button", { type: "button", class: "quiet close", "aria-label": "Close details", onclick: () => this.open("") }, "×");
      this.title = h("h2", { tabindex: "-1" });
      redraw(this.element, h("div", { class: "bar-top" }, this.title, gone), this.facts, this.answers);
      this.element.scrollTop = 0;
      this.yaml = false;
    }
    this.refresh();
    if (other && focus) this.title.focus({ preventScroll: true });
  }

  // Draw what is known again, and ask for the rest.
  refresh() {
    const { key, store } = this;
    const kind = kindOf(key);
    const piece = store.get(key);
    redraw(this.title, h("small", {}, KINDS[kind] ?? kind), kind === "network" ? piece?.name ?? nameOf(key) : kind === "link" ? piece?.name ?? nameOf(key) : nameOf(key));
    redraw(this.facts, piece ? [this.problems(key), this.list(kind, key, piece)] : h("p", { class: "dim" }, "It does not exist any more."));
    this.ask(key, kind, piece);
  }

  problems(key) {
    return (this.store.problemsOf.get(key) ?? []).map((one) => {
      const problem = this.store.get(one);
      return h("div", { class: `problem ${problem.severity}` }, mark(problem.severity),
        h("div", {}, problem.message, problem.hint ? h("code", { class: "hint" }, problem.hint) : null));
    });
  }

  list(kind, key, piece) {
    const rows = FACTS[kind]?.(this, key, piece) ?? [];
    return h("dl", { class: "facts" }, rows.filter(([, value]) => value !== "" && value !== null && value?.length !== 0)
      .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }

  link(key, words) {
    if (!this.store.get(key)) return h("span", {}, words ?? nameOf(key));
    return h("button", { type: "button", class: "key", "data-key": key, onclick: () => this.open(key) },
      h("i", { class: `dot ${this.store.mood(key)}` }), words ?? nameOf(key));
  }

  links(keys, words = nameOf) {
    const shown = keys.slice(0, 40).map((one) => this.link(one, words(one)));
    if (keys.length > shown.length) shown.push(h("span", { class: "dim" }, `and ${keys.length - shown.length} more`));
    return shown;
  }

  async ask(key, kind, piece) {
    const number = ++this.asked;
    const waits = (kind === "pod" && ["Waiting", "NotReady"].includes(piece?.state) && !piece?.node) ||
      (kind === "claim" && piece?.state === "Pending");
    const said = await Promise.all([waits ? get("why", key) : null, kind === "network" && !key.startsWith("network/offered/") ? null : get("object", key)]);
    if (number !== this.asked) return;
    const [why, detail] = said;
    const parts = [];
    if (why) parts.push(h("section", {}, h("h3", {}, "Why it waits"), why.fault ? h("p", {}, why.fault) : whyParts(why.found, this.open)));
    if (detail?.found) parts.push(...this.rest(detail.found));
    else if (detail) parts.push(h("p", { class: "dim" }, detail.fault));
    redraw(this.answers, parts);
  }

  rest(found) {
    const parts = [];
    if (found.attributes?.length) parts.push(h("details", { open: true }, h("summary", {}, "Attributes"),
      h("dl", { class: "facts" }, found.attributes.map(([name, value]) => [h("dt", { title: name }, name.split("/").at(-1)), h("dd", {}, h("code", {}, value))]))));
    if (found.events?.length || found.eventsFault) parts.push(h("section", {}, h("h3", {}, "Events"),
      found.eventsFault ? h("p", { class: "dim" }, found.eventsFault) : null,
      h("ol", { class: "events" }, (found.events ?? []).map(event))));
    const shown = h("details", { open: this.yaml, ontoggle: (one) => { this.yaml = one.target.open; } },
      h("summary", {}, "YAML"), h("button", { type: "button", class: "quiet copy", onclick: (one) => copy(one.target, found.yaml) }, "Copy"),
      h("pre", { tabindex: "0" }, found.yaml));
    parts.push(shown);
    return parts;
  }
}

const FACTS = {
  pod: (view, key, pod) => [
    ["State", [h("i", { class: `dot ${view.store.mood(key)}` }), pod.state, pod.phase && pod.phase !== pod.state ? h("small", {}, pod.phase) : ""]],
    ["Waits for", pod.waiting ?? ""],
    ["Namespace", namespaceOf(key)],
    ["Node", pod.node ? view.link(`node/${pod.node}`) : ""],
    ["Interfaces", (pod.interfaces ?? []).map((one) => h("div", {}, h("b", {}, one.name), " ", (one.ips ?? []).join(" "), one.mac ? h("small", {}, one.mac) : null))],
    ["Claims", view.links(pod.claims ?? [])],
    ["Links", view.links([...new Set((pod.claims ?? []).flatMap((one) => (view.store.get(one)?.devices ?? []).map((each) => each.link)))], (one) => view.store.get(one)?.name ?? nameOf(one))],
    ["Networks", networks(view, pod.claims ?? [])],
    ["Not made yet", (pod.unmade ?? []).join(", ")],
  ],
  claim: (view, key, claim) => [
    ["State", [h("i", { class: `dot ${view.store.mood(key)}` }), claim.state, claim.deleting ? h("small", {}, "is being deleted") : ""]],
    ["Message", claim.message ?? ""],
    ["Namespace", namespaceOf(key)],
    ["Network", networks(view, [key])],
    ["Class", (claim.classes ?? []).join(", ")],
    ["Devices", (claim.devices ?? []).map((one) => h("div", {}, view.link(one.link, `${one.node ? `${one.node}/` : ""}${view.store.get(one.link)?.name ?? nameOf(one.link)}`),
      (one.amounts ?? []).map(([name, text]) => h("small", {}, `${name} ${text}`)), one.unhealthy ? h("small", { class: "bad" }, one.unhealthy) : null))],
    ["Pods", view.links(view.store.podsOf.get(key) ?? [])],
    ["Since", claim.since ?? ""],
  ],
  link: (view, key, link) => [
    ["State", [h("i", { class: `dot ${view.store.mood(key)}` }), link.state]],
    ["Node", link.node ? view.link(`node/${link.node}`) : ""],
    ["About", (link.about ?? []).join(", ")],
    ["Taints", (link.taints ?? []).join(", ")],
    ...(link.amounts ?? []).map((one) => [one.name, [bar(one.part ?? 0, `${one.used} of ${one.total}`), h("small", {}, `${one.used} of ${one.total}`)]]),
    ["Claims", view.links(view.store.links.get(key)?.claims ?? [])],
    ["Driver", link.driver],
  ],
  node: (view, key, node) => {
    const found = view.store.nodes.get(nameOf(key));
    return [
      ["State", [h("i", { class: `dot ${view.store.mood(key)}` }), readiness(node), node.cordoned ? h("small", {}, "cordoned") : ""]],
      ["Links", view.links(found.links, (one) => view.store.get(one)?.name ?? nameOf(one))],
      ["Claims", count(found.claims.size, "claim")],
      ["Pods", view.links(found.pods)],
    ];
  },
  network: (view, key, network) => [
    ["Kind", network.kind],
    ["About", (network.about ?? []).join(", ")],
    ["Message", network.message ?? ""],
    ["Addresses", network.pool ? view.link(network.pool) : ""],
    ["Claims", [count(network.claims ?? 0, "claim"), " ", h("button", { type: "button", class: "key", onclick: () => view.filterBy({ net: key }) }, "show them on the map")]],
  ],
  pool: (view, key, pool) => [
    ["State", [h("i", { class: `dot ${view.store.mood(key)}` }), readiness(pool)]],
    ["Message", pool.message ?? ""],
    ["Ranges", (pool.ranges ?? []).join(", ")],
    ["Used", pool.addresses ? [bar(pool.addresses.part ?? 0, `${pool.addresses.used} of ${pool.addresses.total}`), h("small", {}, `${pool.addresses.used} of ${pool.addresses.total}`)] : ""],
    ["Kept for pods", pool.kept ? String(pool.kept) : ""],
    ["Free", (pool.free ?? 0).toLocaleString("en")],
    ["Networks", view.links(pool.networks ?? [], (one) => view.store.get(one)?.name ?? nameOf(one))],
  ],
};

function networks(view, claims) {
  const keys = [...new Set(claims.map((one) => view.store.get(one)?.network).filter(Boolean))];
  return view.links(keys, (one) => view.store.get(one)?.name ?? nameOf(one));
}

function event(one) {
  return h("li", { class: one.isWarning ? "warning" : "" }, h("time", {}, one.when.slice(0, 19).replace("T", " ")),
    h("b", {}, one.reason), one.count > 1 ? h("small", {}, `${one.count} times`) : null, h("span", {}, one.note));
}

async function get(about, key) {
  try {
    const answer = await session.ask(`${about}?key=${encodeURIComponent(key)}`);
    return answer.ok ? { found: await answer.json() } : { fault: await answer.text() };
  } catch {
    return { fault: "netclaim does not answer." };
  }
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select it and press Ctrl-C";
  }
}
