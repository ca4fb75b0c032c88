// Shows openapi.json, with a form for each request. Text from the document and from answers is only
// ever set as text, so that none of it becomes markup.
"use strict";

const METHODS = ["get", "put", "post", "delete", "head", "options", "patch"];
const SHOWN_MAX = 65536;  // Bytes of an answer; a stream of keys may have a gigabyte.
let spec = {};

const byId = (id) => document.getElementById(id);

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "text") element.textContent = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// Follows references inside the document.
function resolve(node) {
  while (node && node.$ref) {
    const found = node.$ref.slice(2).split("/").reduce(
      (at, step) => at[step.replaceAll("~1", "/").replaceAll("~0", "~")], spec);
    const { $ref, ...beside } = node;
    node = { ...found, ...beside };
  }
  return node;
}

// Paragraphs, with what stands in backticks as code.
function prose(text, tag = "p") {
  return (text || "").split("\n\n").filter(Boolean).map((paragraph) => make(tag, {},
    ...paragraph.split("`").map((part, i) => (i % 2 ? make("code", { text: part }) : part))));
}

// --- Schemas ----------------------------------------------------------------------------------

// All that has to hold at once, as one schema.
function merged(schema) {
  const whole = resolve(schema) || {};
  if (!whole.allOf) return whole;
  return whole.allOf.map(merged).reduce((sum, part) => {
    const properties = { ...sum.properties };
    for (const [name, value] of Object.entries(part.properties || {})) {
      properties[name] = { ...resolve(properties[name]), ...resolve(value) };
    }
    return { ...sum, ...part, properties, required: sum.required || part.required };
  }, {});
}

function typeText(schema) {
  const it = merged(schema);
  if (it.const !== undefined) return JSON.stringify(it.const);
  if (it.enum) return it.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (it.type === "array") return `list of ${it.items ? typeText(it.items) : "anything"}`;
  const type = [].concat(it.type || "anything").join(" or ");
  return it.format ? `${type} (${it.format})` : type;
}

// A row for each property, those of objects inside of it too.
function propertyRows(schema, before = "") {
  const it = merged(schema);
  const rows = [];
  for (const [name, value] of Object.entries(it.properties || {})) {
    const property = merged(value);
    const must = (it.required || []).includes(name);
    rows.push(make("tr", {},
      make("th", { scope: "row" }, make("code", { text: before + name }), must ? " *" : null),
      make("td", { text: typeText(value) }),
      make("td", {}, ...prose(property.description, "span"))));
    const inner = property.type === "array" ? property.items : property;
    if (inner && merged(inner).properties) {
      rows.push(...propertyRows(inner, `${before}${name}${property.type === "array" ? "[]" : ""}.`));
    }
  }
  return rows;
}

function schemaView(schema) {
  const rows = propertyRows(schema);
  if (rows.length === 0) return make("p", { text: typeText(schema) });
  return make("div", { class: "scroll" }, make("table", {},
    make("thead", {}, make("tr", {}, ...["name (* always there)", "type", "meaning"].map(
      (text) => make("th", { scope: "col", text })))),
    make("tbody", {}, ...rows)));
}

function firstExample(media) {
  if (media.example !== undefined) return media.example;
  const named = Object.values(media.examples || {});
  return named.length ? resolve(named[0]).value : undefined;
}

const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

function contentView(content) {
  return Object.entries(content || {}).flatMap(([type, media]) => {
    const example = firstExample(media);
    return [make("details", {}, make("summary", {}, make("code", { text: type })),
      schemaView(media.schema),
      example === undefined ? null : make("pre", { tabindex: "0", text: asText(example) }))];
  });
}

function responsesView(operation) {
  const rows = Object.entries(operation.responses).map(([status, response]) => {
    const it = resolve(response);
    return make("tr", {}, make("th", { scope: "row", text: status }), make("td", {},
      ...prose(it.description), it.headers ? make("p", { class: "quiet" }, "Header: ",
        make("code", { text: Object.keys(it.headers).join(", ") })) : null,
      ...contentView(it.content)));
  });
  return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {},
    make("th", { scope: "col", text: "status" }), make("th", { scope: "col", text: "answer" }))),
    make("tbody", {}, ...rows)));
}

// --- Trying -----------------------------------------------------------------------------------

function field(id, label, control, hint) {
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  control.id = id;
  return make("div", { class: "field" }, make("label", { for: id, text: label }), control,
    hint ? make("span", { class: "quiet", id: `${id}-hint` }, ...prose(hint, "span")) : null);
}

function parameterControl(parameter) {
  const schema = merged(parameter.schema);
  if (parameter.allowEmptyValue) return make("input", { type: "checkbox" });
  if (schema.enum) {
    const options = parameter.required ? schema.enum : ["", ...schema.enum];
    return make("select", {}, ...options.map((value) => make("option", { text: value })));
  }
  const value = parameter.required ? parameter.example : undefined;
  return make("input", { type: "text", required: parameter.required, value, autocomplete: "off",
    spellcheck: "false", placeholder: schema.default });
}

// The request as the form says: what fetch needs.
function readForm(path, method, parts) {
  const query = new URLSearchParams();
  const headers = {};
  for (const { parameter, control } of parts.parameters) {
    const { name, in: place } = parameter;
    if (control.type === "checkbox") {
      if (control.checked) query.append(name, "");
    } else if (place === "path") {
      path = path.replace(`{${name}}`, encodeURIComponent(control.value));
    } else if (control.value !== "" && place === "query") {
      const several = merged(parameter.schema).type === "array";
      for (const value of several ? control.value.split(/[\s,]+/) : [control.value]) {
        query.append(name, value);
      }
    } else if (control.value !== "") {
      headers[name] = control.value;
    }
  }
  if (parts.accept) headers.Accept = parts.accept.value.split(";")[0];
  const body = parts.body && parts.body.value.trim() !== "" ? parts.body.value : undefined;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const search = query.toString();
  // Below where this page is: a proxy may have put the server there.
  const url = new URL(`.${path}${search ? `?${search}` : ""}`, document.baseURI);
  return { url, options: { method: method.toUpperCase(), headers, body, cache: "no-store" } };
}

const shellQuote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curlText({ url, options }) {
  const headers = Object.entries(options.headers).map(([name, value]) =>
    ` -H ${shellQuote(`${name}: ${value}`)}`);
  const body = options.body === undefined ? "" : ` -d ${shellQuote(options.body)}`;
  return `curl -i -X ${options.method} ${shellQuote(url.href)}${headers.join("")}${body}`;
}

// The beginning of a body; the rest of it is not read.
async function readSome(response) {
  const reader = response.body ? response.body.getReader() : null;
  const decoder = new TextDecoder();
  let text = "";
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    if (text.length > SHOWN_MAX) {
      await reader.cancel();
      return `${text.slice(0, SHOWN_MAX)}\n… and more`;
    }
  }
  return text;
}

function prettyBody(type, text) {
  if (!/json/.test(type || "")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

async function send(request, output) {
  output.replaceChildren(make("p", { text: "Waiting…" }));
  const curl = make("pre", { tabindex: "0", "aria-label": "the same with curl", text: curlText(request) });
  const began = performance.now();
  try {
    const response = await fetch(request.url, request.options);
    const text = await readSome(response);
    const milliseconds = (performance.now() - began).toFixed(1);
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    output.replaceChildren(
      make("p", {}, make("span", { class: response.ok ? "ok" : "problem",
        text: `${response.status} ${response.statusText}` }), ` in ${milliseconds} ms`),
      make("pre", { tabindex: "0", "aria-label": "header", text: headers }),
      text === "" ? make("p", { class: "quiet", text: "no body" }) : make("pre", { tabindex: "0",
        "aria-label": "body", text: prettyBody(response.headers.get("content-type"), text) }),
      curl);
  } catch (error) {
    output.replaceChildren(make("p", { class: "problem", text: `No answer: ${error.message}` }), curl);
  }
}

function tryForm(path, method, operation, parameters) {
  const id = operation.operationId;
  const parts = { parameters: [], accept: null, body: null };
  const fields = [];
  for (const parameter of parameters) {
    const control = parameterControl(parameter);
    parts.parameters.push({ parameter, control });
    fields.push(field(`${id}-${parameter.name}`, `${parameter.name} (${parameter.in})`, control,
      parameter.description));
  }
  const types = Object.keys(resolve(operation.responses["200"] || {}).content || {});
  if (types.length > 1) {
    parts.accept = make("select", {}, ...types.map((text) => make("option", { text })));
    fields.push(field(`${id}-accept`, "Accept (header)", parts.accept));
  }
  const request = resolve(operation.requestBody);
  if (request) {
    const media = request.content["application/json"];
    const example = request.required || method === "put" ? firstExample(media) : undefined;
    parts.body = make("textarea", { rows: "5", spellcheck: "false",
      text: example === undefined ? "" : asText(example) });
    fields.push(field(`${id}-body`, "body (JSON)", parts.body, request.description));
  }
  const output = make("div", { "aria-live": "polite" });
  const form = make("form", {}, make("fieldset", {}, make("legend", { text: "Try it" }), ...fields,
    make("button", { type: "submit", text: `Send ${method.toUpperCase()}` })), output);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const ready = readForm(path, method, parts);
    // What is given back or ended cannot be had again.
    if (method === "delete" && !window.confirm(`DELETE ${ready.url.pathname}?`)) return;
    send(ready, output);
  });
  return form;
}

// --- The page ---------------------------------------------------------------------------------

function operationView(path, method, operation, shared) {
  const parameters = [...(shared || []), ...(operation.parameters || [])].map(resolve);
  const request = resolve(operation.requestBody);
  const view = make("details", { class: "operation", id: operation.operationId },
    make("summary", {}, make("h3", {},
      make("span", { class: `method ${method}`, text: method.toUpperCase() }),
      make("span", { class: "path", text: path }), make("br"),
      make("span", { class: "quiet", text: operation.summary }))));
  // Made when it is looked at for the first time.
  view.addEventListener("toggle", () => {
    if (!view.open || view.children.length > 1) return;
    view.append(make("div", {}, ...prose(operation.description),
      tryForm(path, method, operation, parameters),
      ...(request ? [make("h3", { text: "Body" }), ...contentView(request.content)] : []),
      make("h3", { text: "Answers" }), responsesView(operation)));
  });
  return view;
}

function openTarget() {
  const target = byId(decodeURIComponent(location.hash.slice(1)));
  if (!target || target.tagName !== "DETAILS") return;
  target.open = true;
  target.scrollIntoView();
  target.querySelector("summary").focus();
}

function filterBy(text) {
  const words = text.toLowerCase().split(/\s+/);
  for (const item of document.querySelectorAll("[data-words]")) {
    item.hidden = !words.every((word) => item.dataset.words.includes(word));
  }
}

function show(tag, contents, operations) {
  const links = make("ul");
  const section = make("section", { "aria-label": tag.name }, make("h2", { text: tag.name }),
    ...prose(tag.description));
  for (const [path, item] of Object.entries(spec.paths)) {
    for (const method of METHODS.filter((name) => item[name])) {
      const operation = item[method];
      if (!operation.tags.includes(tag.name)) continue;
      const words = `${method} ${path} ${operation.summary} ${operation.operationId}`.toLowerCase();
      const view = operationView(path, method, operation, item.parameters);
      view.dataset.words = words;
      section.append(view);
      links.append(make("li", { "data-words": words },
        make("a", { href: `#${operation.operationId}`, text: operation.summary })));
    }
  }
  contents.append(make("h2", { text: tag.name }), links);
  operations.append(section);
}

async function start() {
  try {
    const response = await fetch(new URL("openapi.json", document.baseURI));
    if (!response.ok) throw new Error(`openapi.json: ${response.status}`);
    spec = await response.json();
  } catch (error) {
    byId("notice").textContent = `openapi.json cannot be read: ${error.message}`;
    return;
  }
  byId("notice").remove();
  byId("title").textContent = `${spec.info.title} ${spec.info.version}`;
  byId("about").append(...prose(spec.info.description));
  for (const tag of spec.tags) show(tag, byId("contents"), byId("operations"));
  byId("filter").addEventListener("input", (event) => filterBy(event.target.value));
  window.addEventListener("hashchange", openTarget);
  openTarget();
}

start();
