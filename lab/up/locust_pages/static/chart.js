// A line chart over the last two minutes with the fault windows shaded, drawn as SVG.

const NAMESPACE = "http://www.w3.org/2000/svg";
const SPAN_S = 120;
const WIDTH = 720;
const HEIGHT = 176;
const LEFT = 44;
const BOTTOM = 20;
const TOP = 8;

export function drawChart(svg, { nowS, points, windows, lines }) {
  const endS = Math.floor(nowS);
  const startS = endS - SPAN_S;
  const seen = points.filter((point) => point.t >= startS);
  const top = niceTop(Math.max(1, ...seen.flatMap((point) => lines.map((name) => point[name] ?? 0))));
  const x = (s) => LEFT + ((Math.min(Math.max(s, startS), endS) - startS) / SPAN_S) * (WIDTH - LEFT - 8);
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);

  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.replaceChildren(
    ...windows.filter((each) => (each.untilS ?? nowS) > startS).map((each) => shade(each, nowS, x, y, top)),
    ...[0, top / 2, top].flatMap((value) => gridLine(value, x(startS), x(endS), y(value))),
    ...[-120, -90, -60, -30, 0].map((ago) => text(x(endS + ago), HEIGHT - 5, ago ? `${ago} s` : "now", ago ? "middle" : "end")),
    ...lines.flatMap((name) => runs(seen, name).map((run) => line(run, name, x, y))),
  );
}

// Seconds that follow one another; a gap in the load is a gap in the line.
function runs(points, name) {
  const found = [];
  let last = null;
  for (const point of points) {
    if (point[name] === null) continue;
    if (last === null || point.t > last + 3) found.push([]);
    found.at(-1).push(point);
    last = point.t;
  }
  return found;
}

function line(run, name, x, y) {
  if (run.length === 1) {
    return element("circle", { class: name, cx: x(run[0].t), cy: y(run[0][name]), r: 2 });
  }
  const corners = run.map((point) => `${x(point.t).toFixed(1)},${y(point[name]).toFixed(1)}`);
  return element("polyline", { class: name, points: corners.join(" ") });
}

function shade({ label, fromS, untilS }, nowS, x, y, top) {
  const left = x(fromS);
  const box = element("rect", {
    class: "fault", x: left, y: y(top), width: Math.max(1, x(untilS ?? nowS) - left), height: y(0) - y(top),
  });
  const title = element("title", {});
  title.textContent = label;
  box.append(title);
  return box;
}

function gridLine(value, left, right, height) {
  return [
    element("line", { class: "grid", x1: left, x2: right, y1: height, y2: height }),
    text(left - 4, height + 4, value.toLocaleString("en"), "end"),
  ];
}

function text(x, y, words, anchor) {
  const node = element("text", { x, y, "text-anchor": anchor });
  node.textContent = words;
  return node;
}

function element(name, attributes) {
  const node = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

function niceTop(largest) {
  const power = 10 ** Math.floor(Math.log10(largest));
  return [1, 2, 5, 10].map((step) => step * power).find((top) => top >= largest);
}
