// Which pods, claims, links and nodes the search and the filters leave.

import { kindOf, nameOf, namespaceOf } from "./store.js";

export const STATES = {
  "": "All",
  problems: "With problems",
  wait: "Waiting",
  bad: "Not ready",
  fine: "Ready",
};

export class Filter {
  constructor(store, route) {
    this.store = store;
    this.words = route.q.toLowerCase().split(/\s+/).filter(Boolean);
    this.route = route;
    this.on = route.filters;
  }

  // Whether a pod or claim is left, by itself or by what belongs to it.
  leaves(key) {
    if (!this.on) return true;
    const { ns, node, net, state } = this.route;
    const { store } = this;
    const piece = store.get(key);
    if (!piece) return false;
    if (ns && namespaceOf(key) !== ns) return false;
    if (node && !this.nodes(key).includes(node)) return false;
    if (net && !this.claims(key).some((one) => store.get(one)?.network === net)) return false;
    if (state === "problems" && !store.worst(key)) return false;
    if (state && state !== "problems" && store.mood(key) !== state) return false;
    return this.finds(key, piece);
  }

  leavesLink(key) {
    if (!this.on) return true;
    const { ns, node, net, state } = this.route;
    const piece = this.store.get(key);
    if (ns || net || !piece) return false;
    if (node && piece.node !== node) return false;
    if (state === "problems" && !this.store.worst(key)) return false;
    if (state && state !== "problems" && this.store.mood(key) !== state) return false;
    return this.finds(key, piece);
  }

  // Whether a node is left as a whole, whatever is on it.
  leavesNode(found) {
    const { ns, node, net, state } = this.route;
    if (!this.on) return true;
    if (ns || net) return false;
    if (node && found.name !== node) return false;
    if (state === "problems" && !this.store.worst(found.key)) return false;
    if (state && state !== "problems" && this.store.mood(found.key) !== state) return false;
    return this.words.every((word) => found.name.includes(word));
  }

  // Whether anything of a link is left: the link itself, or a claim on it.
  showsLink(key) {
    return this.leavesLink(key) || (this.store.links.get(key)?.claims ?? []).some((one) => this.leavesRow(one));
  }

  // Whether anything of a node is left, so that its card is drawn.
  shows(found) {
    if (this.leavesNode(found)) return true;
    return found.links.some((one) => this.leavesLink(one)) ||
      [...found.claims].some((one) => this.leavesRow(one)) ||
      found.pods.some((one) => this.leaves(one));
  }

  // A claim is drawn with its pods, so either is enough.
  leavesRow(claim) {
    return this.leaves(claim) || (this.store.podsOf.get(claim) ?? []).some((one) => this.leaves(one));
  }

  finds(key, piece) {
    if (!this.words.length) return true;
    const text = this.text(key, piece);
    return this.words.every((word) => text.includes(word));
  }

  text(key, piece) {
    const said = [key, piece.name, piece.node, piece.state, piece.network];
    if (kindOf(key) === "pod") for (const one of piece.interfaces ?? []) said.push(one.name, one.mac, ...(one.ips ?? []));
    if (kindOf(key) === "claim") {
      said.push(...(piece.classes ?? []));
      for (const one of piece.devices ?? []) said.push(nameOf(one.link), one.node);
    }
    if (kindOf(key) === "link") said.push(...(piece.about ?? []));
    return said.join(" ").toLowerCase();
  }

  nodes(key) {
    return kindOf(key) === "pod" ? [this.store.get(key).node] : this.store.nodesOf(key);
  }

  claims(key) {
    return kindOf(key) === "claim" ? [key] : this.store.get(key).claims ?? [];
  }
}
