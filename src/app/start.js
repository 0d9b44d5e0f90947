// Starts the page's program, and brings what few visits need when they need it. `cargo xtask build` writes the names of the files into
// the first lines.
const BINDINGS = "./bindings.js";
const PROGRAM = "./program.packed";
const UNPACK = "./unpack.js";
const LATER = "./later.wasm";
const PICTURES = "./pictures.js";
const EMBED = "./embed.js";
const OFFLINE = "./offline.js";

const bytesOf = async (name) => {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
};

/** Bytes unpacked in a worker, so that the page takes input meanwhile. */
const unpackedAside = (packed) =>
  new Promise((done, failed) => {
    const worker = new Worker(UNPACK, { type: "module" });
    worker.onerror = failed;
    worker.onmessage = ({ data }) => {
      worker.terminate();
      done(data);
    };
    packed.then((bytes) => worker.postMessage(bytes), failed);
  });

/** The program as the build packed it, in LZMA, which browsers do not unpack themselves. Where no worker may begin, as in a frame without
 * an origin of its own, the page unpacks it. */
const unpacked = async (name) => {
  const packed = bytesOf(name);
  const program = await unpackedAside(packed).catch(async () => (await import(UNPACK)).unlzma(await packed));
  return new Response(program, { headers: { "content-type": "application/wasm" } });
};

/** The rules that only lessons and the panels of the workers need. */
const fetchStyle = () => {
  const named = document.querySelector("meta[name=later-style]");
  if (!named) return;
  const sheet = document.createElement("link");
  sheet.rel = "stylesheet";
  sheet.href = named.content;
  named.replaceWith(sheet);
};

/** Whether the program runs, and whether somebody wanted its later part before. */
let [runs, wanted] = [false, false];

/** The part of the program that the page needs at once, but not at first: the program fetches it. */
const fetchPart = () => {
  wanted = true;
  if (runs) dispatchEvent(new Event("HeadroomLaterWanted"));
};

/** What nobody needs who only looks. */
const fetchLater = () => {
  fetchStyle();
  fetchPart();
};

for (const sign of ["pointermove", "pointerdown", "touchstart", "keydown", "focusin", "wheel", "scroll", "hashchange"]) {
  addEventListener(sign, fetchLater, { once: true, passive: true, capture: true });
}

/** The files of what was dropped: files, and those that stand in a folder. */
const filesOf = async (entries) => {
  const inside = async (reader) => {
    const some = await new Promise((done) => reader.readEntries(done, () => done([])));
    return some.length > 0 ? [...some, ...(await inside(reader))] : [];
  };
  const all = await Promise.all(entries.map((entry) => (entry.isDirectory ? inside(entry.createReader()) : [entry])));
  return Promise.all(all.flat().filter((entry) => entry.isFile).map((entry) => new Promise((done, failed) => entry.file(done, failed))));
};

// Files that are dropped anywhere go the way of those chosen in the dialog for pasting, which opens for them.
const chooser = () => document.querySelector("[data-change=paste-file]");
addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
addEventListener("drop", async (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const plain = [...event.dataTransfer.files];
  if (!chooser()) document.querySelector("[data-do='dialog:paste']")?.click();
  const chosen = new DataTransfer();
  for (const file of entries.length > 0 ? await filesOf(entries) : plain) chosen.items.add(file);
  for (let turn = 0; turn < 100 && !chooser(); turn += 1) await new Promise((done) => setTimeout(done, 20));
  const input = chooser();
  if (!input || chosen.files.length === 0) return;
  input.files = chosen.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
});

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
const program = unpacked(PROGRAM);
// A link that changes keys of a config.json, whose names are long, or that names a model by its repository is read with the later part's
// help. The browser keeps it until the program asks.
if (/[&.]([a-z0-9-]{7,}=|(m|gpu)=[a-z0-9.-]*[^a-z0-9.&-])/.test(location.hash)) fetch(LATER).catch(() => {});
const { default: init } = await import(BINDINGS);
await init({ module_or_path: program });
runs = true;
if (wanted) fetchPart();
// A link may open a lesson or a panel; the program itself comes before its rules.
if (opened) fetchStyle();
dispatchEvent(new CustomEvent("HeadroomStarted"));
// Who opens a link may print it at once, with its code; a first visit is left alone for a while.
if (opened) fetchPart();
setTimeout(fetchLater, 4000);
// The page is kept for visits without a network, once it is at rest: sw.js waits for that.
if (navigator.serviceWorker && !embedded) setTimeout(() => import(OFFLINE).catch(() => {}), 1000);
