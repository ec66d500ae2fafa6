"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const plain = (x) => {                     // as `${x:g}` writes it in Python, for the stops that there are
    const [digits, power] = x.toExponential().split("e");
    if (x !== 0 && Number(power) < -4) return `${digits}e-${String(-power).padStart(2, "0")}`;
    return String(x);
  };
  const brief = (x) => x >= 1000 ? Math.round(x).toLocaleString("en-US") : String(Number(x.toPrecision(3)));
  const row = (parent, cells) => {
    const line = document.createElement("tr");
    cells.forEach((text, k) => {
      const cell = document.createElement(k === 0 ? "th" : "td");
      if (k === 0) cell.scope = "row"; else cell.className = "number";
      if (text instanceof Node) cell.append(text);
      else cell.textContent = text;          // never HTML: names are somebody else's text
      line.append(cell);
    });
    parent.append(line);
  };
  const drawn = (tag, given) => {
    const made = document.createElementNS(at("curve").namespaceURI, tag);
    for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
    return made;
  };

  function interval(centre, half) {          // the assumed coefficient, its interval, and zero
    const reach = 2 * Math.abs(centre) || 2 * half || 1;
    const at = (x) => 60 + 56 * Math.max(-1.05, Math.min(1.05, x / reach));
    const clear = Math.abs(centre) > half;
    const svg = drawn("svg", { viewBox: "0 0 120 16", width: 120, height: 16, role: "img", "aria-label": clear ? "told from zero" : "not told from zero" });
    svg.append(
      drawn("path", { d: "M60 1V15", stroke: "var(--middle)", "stroke-width": 1 }),
      drawn("path", { d: `M${at(centre - half)} 8H${at(centre + half)}`, stroke: clear ? "var(--one)" : "var(--two)", "stroke-width": 3, "stroke-dasharray": clear ? "none" : "4 2" }),
      drawn("circle", { cx: at(centre), cy: 8, r: 3.5, fill: "currentColor" }),
    );
    return svg;
  }

  const way = () => data.ways.find((each) => each.name === at("way").value);
  const unit = () => document.querySelector("input[name=unit]:checked").value;

  function setStops() {
    const now = way();
    for (const [id, stops] of [["epsilon", now.epsilons], ["delta", now.deltas], ["records", data.records]]) {
      const slider = at(id);
      slider.max = stops.length - 1;
      slider.value = id === "records" && slider.dataset.set ? slider.value : Math.floor((stops.length - 1) / 2);
      slider.dataset.set = "yes";
      slider.disabled = stops.length < 2;
    }
    at("words").textContent = now.words;
    show();
  }

  function tell(id, text) {
    at(id + "-shown").textContent = text;
    at(id).setAttribute("aria-valuetext", text);
  }

  function show() {
    const now = way();
    const epsilon = now.epsilons[at("epsilon").value], delta = now.deltas[at("delta").value];
    const records = data.records[at("records").value];
    tell("epsilon", plain(epsilon));
    tell("delta", delta === 0 ? "0 (pure)" : plain(delta));
    tell("records", records.toLocaleString("en-US"));
    const name = [now.name, unit(), plain(epsilon), plain(delta), now.shuffled ? records : "-"].join(" ");
    const point = data.points[name];
    at("refused").hidden = !point.refused;
    at("answer").hidden = Boolean(point.refused);
    if (point.refused) {
      at("refused").textContent = "Not possible: " + point.refused;
      return;
    }
    at("guarantee").textContent = `epsilon ${plain(epsilon)}, ${delta === 0 ? "pure" : "delta " + plain(delta)}, for one ${unit()}`;
    at("found").textContent = point.found;
    at("curve").setAttribute("points", data.alphas.map((alpha, k) => `${44 + 306 * alpha},${220 - 210 * point.beta[k]}`).join(" "));
    const corner = (alpha, k) => `${44 + 306 * alpha} ${220 - 210 * point.beta[k]}`;
    at("below").setAttribute("d", `M${data.alphas.map(corner).join("L")}L44 10Z`);
    at("noise").replaceChildren();
    for (const [label, text] of Object.entries(point.noise)) {
      const pair = document.createElement("div"), term = document.createElement("dt"), fact = document.createElement("dd");
      term.textContent = label;
      fact.textContent = text;
      pair.append(term, fact);
      at("noise").append(pair);
    }
    for (const each of document.querySelectorAll(".from")) each.textContent = records.toLocaleString("en-US");
    at("widths").replaceChildren();
    for (const [column, each] of Object.entries(point.widths)) {
      row(at("widths"), [column, brief(each.width / Math.sqrt(records)), brief(each.times)]);
    }
    if (!data.model) return;
    at("coefficients").replaceChildren();
    for (const [name, each] of Object.entries(point.coefficients)) {
      if (each.width === null) row(at("coefficients"), [name, "no estimate", "", ""]);
      else {
        const width = each.width / Math.sqrt(records);
        row(at("coefficients"), [name, brief(width), brief(each.times), interval(data.model.assumed[name], width / 2)]);
      }
    }
  }

  at("way").addEventListener("change", setStops);
  for (const id of ["epsilon", "delta", "records"]) at(id).addEventListener("input", show);
  for (const each of document.querySelectorAll("input[name=unit]")) each.addEventListener("change", show);
  setStops();
})();
