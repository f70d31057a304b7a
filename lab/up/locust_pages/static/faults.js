// The switch and the sliders of one service's fault injector.

import { send } from "./requests.js";

const CONTROLS = [
  { field: "failure", label: "Share of replies that fail", kind: "range", max: 1, step: 0.05, start: 0.3, show: percent },
  { field: "status", label: "Status of a failed reply", kind: "choice", choices: [500, 502, 503, 429], start: 500 },
  { field: "delayMs", label: "Delay of each reply", kind: "range", max: 3000, step: 50, start: 0, show: (value) => `${value} ms` },
  { field: "jitterMs", label: "Delay varies by", kind: "range", max: 1000, step: 50, start: 0, show: (value) => `± ${value} ms` },
  { field: "failFirst", label: "The first replies fail, so many", kind: "number", max: 1000000, start: 0 },
  { field: "flapS", label: "Sick and well in turns of so many seconds", kind: "number", max: 600, start: 0, optional: true },
  { field: "hang", label: "Never reply", kind: "tick", start: false, optional: true },
  { field: "body", label: "Spoil the body", kind: "choice", choices: ["", "drip", "truncate", "garbage", "empty"], start: "", optional: true },
];
const SETTLE_MS = 250; // a slider on the move is not a fault for each of its steps

// A share as `loadgen.numbers.percent` writes it: 0 % and 100 % are none and all.
function percent(share) {
  const value = Number((100 * share).toFixed(2));
  if (share > 0 && value === 0) return "<0.01 %";
  return share < 1 && value === 100 ? ">99.99 %" : `${value} %`;
}

export class Fault {
  constructor(service, onState, onTrouble) {
    this.name = service.name;
    this.onState = onState;
    this.onTrouble = onTrouble;
    this.inputs = new Map();
    this.timer = null;
    this.busy = false;
    this.shown = "";
    this.node = document.createElement("fieldset");
    this.build(service);
  }

  build(service) {
    const legend = document.createElement("legend");
    legend.textContent = this.name;
    this.power = document.createElement("input");
    Object.assign(this.power, { type: "checkbox", id: `power-${this.name}` });
    this.power.setAttribute("role", "switch");
    this.power.addEventListener("change", () => this.flip());
    const label = document.createElement("label");
    label.className = "switch";
    label.append(this.power, `Fault of ${this.name}`);
    this.words = document.createElement("p");
    this.words.className = "quiet";
    this.node.append(legend, label, this.words);
    for (const control of CONTROLS) {
      if (!control.optional || control.field in service.document) this.node.append(this.control(control));
    }
  }

  control(control) {
    const row = document.createElement("div");
    const label = document.createElement("label");
    const input = document.createElement(control.kind === "choice" ? "select" : "input");
    const output = document.createElement("output");
    input.id = `${control.field}-${this.name}`;
    label.htmlFor = output.htmlFor = input.id;
    label.textContent = control.label;
    if (control.kind === "choice") {
      input.append(...control.choices.map((choice) => new Option(choice === "" ? "no" : choice, choice)));
    } else {
      input.type = control.kind === "tick" ? "checkbox" : control.kind;
      Object.assign(input, { min: 0, max: control.max ?? "", step: control.step ?? 1 });
    }
    const show = () => { output.textContent = control.show ? control.show(Number(input.value)) : ""; };
    input.addEventListener("input", () => { show(); this.changed(); });
    this.inputs.set(control.field, { control, input, show });
    this.set(control.field, control.start);
    row.className = "control";
    row.append(label, output, input);
    return row;
  }

  set(field, value) {
    const { control, input, show } = this.inputs.get(field);
    const isNew = control.kind === "choice" && value !== null && ![...input.options].some((each) => each.value === String(value));
    if (isNew) input.append(new Option(value, value));
    if (control.kind === "range") this.makeRoom(control, input, value);
    if (control.kind === "tick") input.checked = Boolean(value);
    else input.value = value ?? control.start;
    show();
  }

  // A fault put on elsewhere may lie between the steps or beyond the end: the slider shows it as it is.
  makeRoom(control, input, value) {
    const steps = value / control.step;
    if (Math.abs(steps - Math.round(steps)) > 1e-9) input.step = "any";
    if (value > Number(input.max)) input.max = value;
  }

  document() {
    const entries = [...this.inputs].map(([field, { control, input }]) => [field, read(control, input)]);
    return Object.fromEntries(entries.filter(([field, value]) => field === "status" || value));
  }

  changed() {
    clearTimeout(this.timer);
    if (this.power.checked) this.timer = setTimeout(() => this.put(), SETTLE_MS);
  }

  flip() {
    clearTimeout(this.timer);
    if (this.power.checked) return this.put();
    return this.ask("DELETE");
  }

  put() {
    return this.ask("PUT", this.document());
  }

  async ask(method, document) {
    this.busy = true;
    try {
      this.onState(await send(method, `services/${encodeURIComponent(this.name)}`, document), this);
      this.onTrouble("");
    } catch (trouble) {
      this.onTrouble(trouble.message);
    } finally {
      this.busy = false;
    }
  }

  // What the service says wins, but for what a person is about to change.
  show(service, isReply) {
    const until = service.leftS === null ? "until it is switched off" : `lease ends in ${service.leftS.toFixed(1)} s`;
    const holder = service.held ? "renewed while Locust lives" : "held elsewhere";
    const on = `${service.words}: on for ${Math.round(service.forS)} s; ${until}, ${holder}`;
    this.words.textContent = service.problem || (service.on ? on : "off");
    this.node.classList.toggle("on", service.on);
    if (this.busy && !isReply) return;
    this.power.checked = service.on;
    const put = JSON.stringify([...this.inputs.keys()].map((field) => service.document[field]));
    if (!service.on || put === this.shown || this.node.contains(document.activeElement) && this.power !== document.activeElement) return;
    this.shown = put;
    for (const field of this.inputs.keys()) this.set(field, service.document[field]);
  }
}

function read(control, input) {
  if (control.kind === "tick") return input.checked;
  return control.kind === "choice" && typeof control.start === "string" ? input.value : Number(input.value);
}
