"use strict";
// Values under the pointer, read back from the coordinates of the lines.
(() => {
  const tip = document.body.appendChild(document.createElement("div"));
  tip.className = "tip";
  tip.hidden = true;

  const parse = (path) => path.getAttribute("d").slice(1).split("L").map((point) => point.split(",").map(Number));
  const scale = (text) => {
    const [start, end, low, high, kind] = text.split(" ");
    const value = (at) => +low + ((at - start) / (end - start)) * (high - low);
    return kind === "log" ? (at) => 10 ** value(at) : value;
  };
  const digits = (value, count) => String(Number(value.toPrecision(count))).replaceAll("-", "\u2212");
  const si = (value) => {
    for (const [factor, prefix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
      if (Math.abs(value) >= factor) return digits(value / factor, 4) + prefix;
    return digits(value, 4);
  };
  const duration = (s) =>
    s < 60 ? `${digits(s, 3)} s` : s < 3600 ? `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s` : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  const nearest = (points, at) => points.reduce((best, point) => (Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best));
  const height = (points, at) => {
    const next = points.findIndex((point) => point[0] >= at - 0.01);
    if (next < 0 || at < points[0][0] - 0.01) return null; // the line does not reach there
    if (next === 0 || points[next][0] === at) return points[next][1];
    const [[x0, y0], [x1, y1]] = [points[next - 1], points[next]];
    return y0 + ((at - x0) / (x1 - x0)) * (y1 - y0);
  };
  const row = (className, name, value) => {
    const line = document.createElement("div");
    if (className) line.appendChild(document.createElement("span")).className = `swatch ${className}`;
    line.append(name);
    line.appendChild(document.createElement("b")).textContent = value;
    return line;
  };

  for (const svg of document.querySelectorAll("svg.plot")) {
    const cross = svg.querySelector(".cross");
    let lines = null;
    const hide = () => { tip.hidden = true; cross.style.visibility = "hidden"; };
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("pointermove", (event) => {
      lines ??= [...svg.querySelectorAll("path.line[data-name]"), ...svg.querySelectorAll("path.seed[data-name]")].map((path) => ({ path, points: parse(path) }));
      if (!lines.length) return;
      const box = svg.getBoundingClientRect();
      const pointer = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      const at = lines.map(({ points }) => nearest(points, pointer)[0]).reduce((a, b) => (Math.abs(b - pointer) < Math.abs(a - pointer) ? b : a));
      const [toX, toY] = [scale(svg.dataset.x), scale(svg.dataset.y)];
      const rows = lines.map(({ path, points }) => {
        const y = height(points, at);
        if (y === null) return null;
        const value = "percent" in svg.dataset ? `${digits(100 * toY(y), 3)} %` : si(toY(y));
        return row([...path.classList].filter((name) => /^(c\d|dashed)$/.test(name)).join(" "), path.dataset.name, value);
      });
      const x = toX(at);
      const head = row("", svg.dataset.unit === "time" ? duration(x) : `${si(x)} ${svg.dataset.unit}`, "");
      head.className = "at";
      tip.replaceChildren(head, ...rows.filter(Boolean));
      tip.hidden = false;
      const left = event.clientX + 16 + tip.offsetWidth > innerWidth ? event.clientX - 16 - tip.offsetWidth : event.clientX + 16;
      tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, event.clientY - tip.offsetHeight - 10)}px)`;
      cross.style.visibility = "visible";
      cross.setAttribute("transform", `translate(${at} 0)`);
    });
  }
})();
