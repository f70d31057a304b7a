// Asks for the state once a second and shows it.

import { drawChart } from "./chart.js";
import { Fault } from "./faults.js";
import { send } from "./requests.js";

const EVERY_MS = 1000;
const verbs = document.querySelector("meta[name=process-verbs]").content.split(" ");
const byId = (id) => document.getElementById(id);
const faults = new Map();

function show(state, repliedTo) {
  byId("load").textContent = state.load ? `${state.load.state}, ${state.load.users} users` : "unknown";
  byId("breaker").textContent = state.breaker ?? "not told";
  state.services.forEach((service) => showFault(service, repliedTo));
  showProcesses(state.processes);
  const { nowS, seconds: points, windows } = state;
  drawChart(byId("outcomes"), { nowS, points, windows, lines: ["fresh", "stale", "error"] });
  drawChart(byId("latency"), { nowS, points, windows, lines: ["p50Ms", "p95Ms"] });
  showFigures(points.at(-1), nowS);
  showWindows(windows);
}

function showFault(service, repliedTo) {
  if (!faults.has(service.name)) {
    if (faults.size === 0) byId("services").replaceChildren();
    faults.set(service.name, new Fault(service, show, complain));
    byId("services").append(faults.get(service.name).node);
  }
  const fault = faults.get(service.name);
  fault.show(service, fault === repliedTo);
}

function showProcesses(processes) {
  byId("processes").hidden = processes === null;
  if (processes === null) return;
  const rows = processes.services.map(({ name, state }) => {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = name;
    row.append(head, cell(state), cell(...verbs.map((verb) => button(name, verb))));
    return row;
  });
  const body = byId("processes").querySelector("tbody");
  const known = JSON.stringify(processes);
  if (body.dataset.known === known) return; // a button in use keeps its focus
  body.dataset.known = known;
  body.replaceChildren(...(processes.problem ? [cell(processes.problem)] : rows));
}

function cell(...content) {
  const node = document.createElement("td");
  node.append(...content);
  return node;
}

function button(name, verb) {
  const node = document.createElement("button");
  node.type = "button";
  node.textContent = verb;
  node.setAttribute("aria-label", `${verb} ${name}`);
  node.addEventListener("click", async () => {
    try {
      show(await send("POST", `processes/${encodeURIComponent(name)}/${verb}`));
      complain("");
    } catch (trouble) {
      complain(trouble.message);
    }
  });
  return node;
}

function showFigures(point, nowS) {
  const isCurrent = point !== undefined && point.t > nowS - 6;
  for (const node of document.querySelectorAll("[data-figure]")) {
    const value = isCurrent ? point[node.dataset.figure] : null;
    const isLatency = node.dataset.figure.endsWith("Ms");
    if (isLatency) node.textContent = value === null ? "n/a" : `${value.toPrecision(2) * 1} ms`;
    else node.textContent = value ?? 0;
  }
}

function showWindows(windows) {
  const items = windows.map(({ label, fromS, untilS }) => {
    const from = new Date(fromS * 1000).toLocaleTimeString();
    return untilS === null ? `${label}, since ${from}` : `${label}, ${from} for ${Math.round(untilS - fromS)} s`;
  });
  const list = byId("windows");
  if (list.dataset.known === items.join("\n")) return;
  list.dataset.known = items.join("\n");
  list.replaceChildren(...items.map((words) => {
    const item = document.createElement("li");
    item.textContent = words;
    return item;
  }));
}

function complain(words) {
  byId("message").textContent = words;
}

async function keepLooking() {
  try {
    show(await send("GET", "state"));
    if (byId("message").dataset.lost) complain("");
    delete byId("message").dataset.lost;
  } catch (trouble) {
    byId("message").dataset.lost = "yes";
    complain(`Locust does not answer (${trouble.message}); faults held here end by themselves within 5 s of its end`);
  }
  setTimeout(keepLooking, EVERY_MS);
}

keepLooking();
