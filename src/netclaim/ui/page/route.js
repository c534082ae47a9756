// What is looked at, in the part of the address after #: it can be kept, and sent to others.

const DEFAULTS = { view: "map", size: "", q: "", ns: "", node: "", net: "", state: "", kind: "pod", open: "" };

export class Route {
  constructor(onchange) {
    this.onchange = onchange;
    this.read();
    addEventListener("hashchange", () => {
      this.read();
      onchange();
    });
  }

  read() {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const name in DEFAULTS) this[name] = given.get(name) ?? DEFAULTS[name];
  }

  // Change some of it. Typing replaces the address, everything else can be gone back from.
  set(changes, { quietly = false } = {}) {
    Object.assign(this, changes);
    const given = new URLSearchParams();
    for (const name in DEFAULTS) if (this[name] !== DEFAULTS[name]) given.set(name, this[name]);
    const hash = `#${given}`;
    if (hash !== location.hash) history[quietly ? "replaceState" : "pushState"](null, "", hash);
    this.onchange();
  }

  get filters() {
    return Boolean(this.q || this.ns || this.node || this.net || this.state);
  }

  clear() {
    this.set({ q: "", ns: "", node: "", net: "", state: "" });
  }
}
