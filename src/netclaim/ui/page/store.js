// What the server sent, and what follows from it: which links a node has, which claims are on a
// link, which pods use a claim, and what is wrong with each.

const NETWORK_COLOURS = 8; // as many as style.css has

export const kindOf = (key) => key.slice(0, key.indexOf("/"));
const rest = (key) => key.slice(key.indexOf("/") + 1);

export function namespaceOf(key) {
  const kind = kindOf(key);
  return kind === "pod" || kind === "claim" ? rest(key).split("/", 1)[0] : "";
}

// Whether a node or a pool is ready, in words.
export function readiness(piece) {
  if (typeof piece?.ready !== "boolean") return "Unknown";
  return piece.ready ? "Ready" : "Not ready";
}

export function nameOf(key) {
  const kind = kindOf(key);
  if (kind === "node" || kind === "pool") return rest(key);
  if (kind === "link") return key.slice(key.lastIndexOf("/") + 1);
  return rest(rest(key)); // after the namespace, or where a network is from
}

export class Store {
  constructor() {
    this.pieces = new Map();
    this.index();
  }

  // Take what the server sent, and add the keys that changed to `changed`; with `whole`, what it
  // does not name is gone. What follows from it is as before until `settle`.
  take(news, whole, changed) {
    const gone = new Set(news.gone);
    if (whole) for (const key of this.pieces.keys()) if (!(key in news.set)) gone.add(key);
    for (const key of gone) {
      this.pieces.delete(key);
      changed.add(key);
    }
    for (const key in news.set) {
      this.pieces.set(key, news.set[key]);
      changed.add(key);
    }
  }

  // Work out what follows from all that was taken; returns the names of the nodes to draw again.
  settle(changed) {
    const before = this.nodes;
    this.index();
    return this.touched(changed, before);
  }

  get(key) {
    return this.pieces.get(key);
  }

  get head() {
    return this.pieces.get("head") ?? { source: "", isLive: true };
  }

  index() {
    this.nodes = new Map(); // by name: {key, links, claims, pods, worst}
    this.links = new Map(); // by key: {node, claims, ghost}
    this.podsOf = new Map(); // by the claim's key
    this.problemsOf = new Map(); // by the key of what they are about
    this.waiting = []; // the keys of pods and claims that have no node
    this.networks = [];
    this.problems = [];
    this.namespaces = new Set();
    this.of = { pod: [], claim: [], link: [], node: [], network: this.networks, pool: [] };
    for (const [key, piece] of this.pieces) {
      const kind = kindOf(key);
      this.of[kind]?.push(key);
      if (kind === "node") this.node(rest(key));
      else if (kind === "link") this.link(key, piece.node);
      else if (kind === "problem") this.problems.push(key);
      else if (kind === "pod") {
        this.namespaces.add(namespaceOf(key));
        for (const claim of piece.claims ?? []) add(this.podsOf, claim, key);
        if (piece.node) this.node(piece.node).pods.push(key);
      } else if (kind === "claim") this.namespaces.add(namespaceOf(key));
    }
    for (const key of this.of.claim) this.place(key, this.pieces.get(key));
    for (const key of this.of.pod) {
      const pod = this.pieces.get(key);
      if (!pod.node && pod.state !== "Ended") this.waiting.push(key);
    }
    this.networks.sort();
    this.blame();
  }

  node(name) {
    let found = this.nodes.get(name);
    if (!found) {
      found = { name, key: `node/${name}`, links: [], claims: new Set(), pods: [], worst: "" };
      this.nodes.set(name, found);
    }
    return found;
  }

  link(key, node) {
    const found = { key, node, claims: [], ghost: !this.pieces.has(key) };
    this.links.set(key, found);
    if (node) this.node(node).links.push(key);
    return found;
  }

  place(key, claim) {
    for (const given of claim.devices ?? []) {
      const link = this.links.get(given.link) ?? this.link(given.link, given.node || this.nodeOf(key));
      if (!link.claims.includes(key)) link.claims.push(key);
      if (link.node) this.node(link.node).claims.add(key);
    }
    if (!claim.devices?.length && !this.podsOf.has(key)) this.waiting.push(key);
  }

  // The node of a claim's pod, which says where a device is that may not be listed.
  nodeOf(claim) {
    return (this.podsOf.get(claim) ?? []).map((pod) => this.get(pod).node).find(Boolean) ?? "";
  }

  // Say of each thing what the worst problem is, and of each node that of anything on it.
  blame() {
    this.problems.sort((a, b) => (this.get(a).order ?? 0) - (this.get(b).order ?? 0));
    for (const key of this.problems) {
      const { about, severity } = this.get(key);
      if (!about) continue;
      add(this.problemsOf, about, key);
      for (const node of this.nodesOf(about)) {
        const found = this.nodes.get(node);
        if (found && found.worst !== "error") found.worst = severity;
      }
    }
  }

  worst(key) {
    const found = (this.problemsOf.get(key) ?? []).map((one) => this.get(one).severity);
    return found.includes("error") ? "error" : found[0] ?? "";
  }

  // The names of the nodes that something is on.
  nodesOf(key) {
    const piece = this.pieces.get(key);
    switch (kindOf(key)) {
      case "node": return [rest(key)];
      case "link": return [this.links.get(key)?.node].filter(Boolean);
      case "pod": return piece?.node ? [piece.node] : [];
      case "claim": return (piece?.devices ?? []).map((one) => one.node || this.links.get(one.link)?.node).filter(Boolean);
    }
    return [];
  }

  // The nodes whose cards have to be drawn again: where something changed is, or was.
  touched(changed, before) {
    const nodes = new Set();
    for (const key of changed) {
      const kind = kindOf(key);
      if (kind === "problem") for (const node of this.nodesOf(this.get(key)?.about ?? "/")) nodes.add(node);
      for (const node of this.nodesOf(key)) nodes.add(node);
      if (kind === "pod") for (const claim of this.get(key)?.claims ?? [])
        for (const node of this.nodesOf(claim)) nodes.add(node);
    }
    for (const [name, old] of before) {
      const now = this.nodes.get(name);
      if (!now || old.worst !== now.worst || old.claims.size !== now.claims.size ||
        old.links.length !== now.links.length || old.pods.length !== now.pods.length) nodes.add(name);
    }
    for (const name of this.nodes.keys()) if (!before.has(name)) nodes.add(name);
    return nodes;
  }

  // A number for the colour of a network, the same each time.
  hue(network) {
    if (!network) return "";
    let sum = 7;
    for (let at = 0; at < network.length; at++) sum = (sum * 31 + network.charCodeAt(at)) >>> 0;
    return `hue-${sum % NETWORK_COLOURS}`;
  }

  // The one word that says how something is: bad, wait, fine or off.
  mood(key) {
    const piece = this.pieces.get(key);
    switch (kindOf(key)) {
      case "pod":
        if (piece.state === "Ready") return "fine";
        if (piece.state === "Ended") return "off";
        return piece.state === "NotReady" || this.worst(key) === "error" ? "bad" : "wait";
      case "claim":
        if (piece.state === "NotReady") return "bad";
        return piece.state === "Ready" ? "fine" : "wait";
      case "link":
        if (!piece) return "off";
        if (piece.state === "tainted" || piece.state === "unavailable") return "bad";
        return piece.state === "free" ? "off" : "fine";
      case "node":
      case "pool":
        if (typeof piece?.ready !== "boolean") return "off"; // not known
        return piece.ready ? "fine" : "bad";
      case "network":
        return piece.ready === false ? "bad" : "fine";
    }
    return "fine";
  }
}

function add(map, key, value) {
  const found = map.get(key);
  if (found) found.push(value);
  else map.set(key, [value]);
}
