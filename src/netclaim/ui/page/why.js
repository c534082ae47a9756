// Why a pod waits, as a picture: a row for each device, the nearest first, a column for each
// condition, and a bar for how far off the device is.

import { count, h, svg } from "./dom.js";

const FAR = 4; // a distance that fills the bar: another driver's device, and something else

export function whyParts(answer, open) {
  const { conditions, rows } = answer;
  const others = rows.some((row) => row.missed?.some(([at]) => at >= conditions.length));
  const titles = [...conditions, ...(others ? ["more"] : [])];
  const well = answer.outcome === "fits" || answer.outcome === "allocated";
  return [
    h("p", { class: `verdict ${well ? "fine" : "bad"}` }, answer.summary),
    answer.nearest ? h("p", { class: "nearest" }, h("b", {}, "Nearest "), answer.nearest) : null,
    rows.length ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Devices and conditions" }, h("table", { class: "why" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Device"), h("th", { scope: "col" }, "How far off"),
        titles.map((one) => h("th", { scope: "col" }, h("code", {}, one))))),
      h("tbody", {}, rows.map((row) => line(row, titles, open))))) : null,
    answer.more ? h("p", { class: "dim" }, `${count(answer.more, "device")} further off ${answer.more === 1 ? "is" : "are"} not shown`) : null,
    answer.nodes?.length ? h("dl", { class: "nodes" }, answer.nodes.map(([node, why]) => [h("dt", {}, node), h("dd", {}, why)])) : null,
    answer.moreNodes ? h("p", { class: "dim" }, `and ${count(answer.moreNodes, "more node")}`) : null,
  ];
}

function line(row, titles, open) {
  const missed = new Map(row.missed ?? []);
  const note = row.fits ? (row.takes ?? []).join("; ") : row.but;
  return h("tr", { class: row.fits ? "fits" : "" },
    h("th", { scope: "row" }, h("button", { type: "button", class: "key", onclick: () => open(row.link) }, row.device),
      h("small", {}, row.node), note ? h("small", { class: "note" }, note) : null),
    h("td", {}, gap(row)),
    titles.map((title, at) => h("td", { class: missed.has(at) ? "no" : "yes" },
      sign(missed.has(at)), missed.has(at) ? h("small", {}, missed.get(at)) : null)));
}

// The distance as a bar that shrinks as the device comes nearer.
function gap(row) {
  const part = row.fits ? 0 : Math.min(1, Math.max(0.04, row.distance / FAR));
  const label = row.fits ? "fits" : row.distance < 0.5 && row.distance >= 0 ? "almost" : `${row.distance.toFixed(1)} away`;
  return h("span", { class: "gap" },
    svg("svg", { width: 84, height: 10, role: "img", "aria-label": label },
      svg("rect", { class: "rail", x: 0, y: 4, width: 84, height: 2, rx: 1 }),
      svg("rect", { class: row.fits ? "fine" : "far", x: 0, y: 3, width: Math.round(84 * part), height: 4, rx: 2 }),
      svg("circle", { class: row.fits ? "fine" : "far", cx: Math.max(4, Math.round(84 * part)) - (part > 0.95 ? 4 : 0), cy: 5, r: 4 })),
    h("small", {}, label));
}

function sign(missed) {
  return svg("svg", { width: 14, height: 14, class: missed ? "cross" : "tick", role: "img", "aria-label": missed ? "not met" : "met" },
    svg("path", { d: missed ? "M3.5 3.5l7 7M10.5 3.5l-7 7" : "M3 7.5l3 3 5-6.5" }));
}
