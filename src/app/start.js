// Starts the page's program. It comes in two parts (see xtask/src/split): the first answers what a first visit asks, the second holds
// the rest. `cargo xtask build` writes the names of the files into the first lines.
const BINDINGS = "./bindings.js";
const FIRST = "./first.wasm";
const LATER = "./later.wasm";
const PICTURES = "./pictures.js";
const EMBED = "./embed.js";
const OFFLINE = "./offline.js";

/** What the first part exports, and the second part, compiled. */
let first;
let later;
let linked = false;

/** Puts the functions of the second part into the first part's table. What the first part lends it has no names, only places. */
const link = () => {
  if (linked || !first || !later) return;
  linked = true;
  const offered = { ...first };
  for (let at = 0; at < first.lent.length; at += 1) offered[`f${at}`] = first.lent.get(at);
  new WebAssembly.Instance(later, { first: offered });
};

/** The rules that only lessons need, with whatever else a first visit does not need. */
const fetchStyle = () => {
  const named = document.querySelector("meta[name=later-style]");
  if (!named) return;
  const sheet = document.createElement("link");
  sheet.rel = "stylesheet";
  sheet.href = named.content;
  named.replaceWith(sheet);
};

/** The second part ahead of its use. Where it does not arrive, `load` asks again. */
let coming;
const fetchLater = () => {
  fetchStyle();
  coming ??= WebAssembly.compileStreaming(fetch(LATER))
    .then((module) => {
      later ??= module;
      link();
    })
    .catch(() => {
      coming = undefined;
    });
  return coming;
};

/** What the program calls when it meets a function of the second part before that has come. It cannot wait, so this asks and waits. */
const load = () => {
  fetchStyle();
  if (!later) {
    const request = new XMLHttpRequest();
    request.open("GET", LATER, false);
    // Without this the browser would read text; with it every byte arrives as one character.
    request.overrideMimeType("text/plain; charset=x-user-defined");
    try {
      request.send();
    } catch {
      // The network is away: answered below.
    }
    if (request.status !== 200) throw new WebAssembly.RuntimeError("the rest of the program could not be loaded");
    later = new WebAssembly.Module(Uint8Array.from(request.responseText, (character) => character.charCodeAt(0)));
  }
  link();
};

const parts = { load };

// What is kept from the last visit, and links with more than a plain training, ask for the second part at once. Other links
// ask for nothing that a first visit does not (tests/e2e/first-visit.mjs opens some), and their headline need not wait for it.
const opened = location.hash.length > 1;
const more = /[#&](do=|ker=|srv=|present=|story=|task=|[bcd]\.)/.test(location.hash) || Object.keys(keptHere()).length > 0;

// wasm-bindgen's script makes the imports; these add ours, and keep what the first part exports before it starts.
for (const name of ["instantiateStreaming", "instantiate"]) {
  const plain = WebAssembly[name];
  WebAssembly[name] = async (source, imports) => {
    const result = await plain.call(WebAssembly, source, { ...imports, later: parts });
    first ??= (result.instance ?? result).exports;
    // After the first part and not beside it: on a slow network they would wait for each other.
    if (opened || more) fetchLater();
    if (more) await coming;
    link();
    return result;
  };
}

for (const sign of ["pointermove", "pointerdown", "touchstart", "keydown", "focusin", "wheel", "scroll", "hashchange"]) {
  addEventListener(sign, fetchLater, { once: true, passive: true, capture: true });
}

// Charts as files: a script of its own, because few ask for it.
addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-picture]");
  if (!button) return;
  import(PICTURES).then(({ take }) => take(button)).catch(() => {
    const said = document.getElementById("take-said");
    said.textContent = said.dataset.failed;
  });
});

const embedded = "embed" in document.documentElement.dataset;
if (embedded) import(EMBED).catch(() => {});

/** Local storage, or nothing where the browser does not give it. */
function keptHere() {
  try {
    return localStorage;
  } catch {
    return {};
  }
}

// The answer stands in the HTML, so the program comes after the first picture and does not compete with it. A page in the background
// paints nothing; it starts after a second. A link's answer is not in the HTML: nothing waits.
if (!opened) {
  await Promise.race([
    new Promise((painted) => requestAnimationFrame(() => setTimeout(painted))),
    new Promise((late) => setTimeout(late, 1000)),
  ]);
}
const program = fetch(FIRST);
// All parts at the same time: on a slow network each further wait is seen.
if (more) fetchLater();
const { default: init } = await import(BINDINGS);
await init({ module_or_path: program });
dispatchEvent(new CustomEvent("HeadroomStarted"));
// Nobody has touched the page yet: the rest comes now.
setTimeout(fetchLater, 4000);
// The page is kept for visits without a network, once it is at rest: sw.js waits for that.
if (navigator.serviceWorker && !embedded) setTimeout(() => import(OFFLINE).catch(() => {}), 1000);
