// Starts the page's program, and brings what few visits need when they need it. `cargo xtask build` writes the names of the files into
// the first lines.
const BINDINGS = "./bindings.js";
const PROGRAM = "./program.wasm";
const PICTURES = "./pictures.js";
const EMBED = "./embed.js";
const OFFLINE = "./offline.js";

/** The rules that only lessons and the panels of the workers need. */
const fetchStyle = () => {
  const named = document.querySelector("meta[name=later-style]");
  if (!named) return;
  const sheet = document.createElement("link");
  sheet.rel = "stylesheet";
  sheet.href = named.content;
  named.replaceWith(sheet);
};

for (const sign of ["pointermove", "pointerdown", "touchstart", "keydown", "focusin", "wheel", "scroll", "hashchange"]) {
  addEventListener(sign, fetchStyle, { once: true, passive: true, capture: true });
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

// The answer stands in the HTML, so the program comes after the first picture and does not compete with it. A page in the background
// paints nothing; it starts after a second. A link's answer is not in the HTML: nothing waits.
const opened = location.hash.length > 1;
if (!opened) {
  await Promise.race([
    new Promise((painted) => requestAnimationFrame(() => setTimeout(painted))),
    new Promise((late) => setTimeout(late, 1000)),
  ]);
}
const program = fetch(PROGRAM);
const { default: init } = await import(BINDINGS);
await init({ module_or_path: program });
// A link may open a lesson or a panel; the program itself comes before its rules.
if (opened) fetchStyle();
dispatchEvent(new CustomEvent("HeadroomStarted"));
// Nobody has touched the page yet: the rest of the rules come now.
setTimeout(fetchStyle, 4000);
// The page is kept for visits without a network, once it is at rest: sw.js waits for that.
if (navigator.serviceWorker && !embedded) setTimeout(() => import(OFFLINE).catch(() => {}), 1000);
