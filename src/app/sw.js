// Keeps one build of the page for visits without a network. `cargo xtask build` writes the first
// two lines: the build, and each of its files with its SHA-256.
//
// A page always gets index and files of one build: the index comes from this build's cache and
// every other file is named after its content. A newer build waits until all pages are closed or
// the reader presses the button of its notice.
const BUILD = "";
const FILES = {};

/** Milliseconds for which a newly opened page has the network for itself. */
const REST_MS = 7000;

const OWN = `headroom-${BUILD}`;
const HOME = new URL("./", self.location.href);
const addressOf = (name) => new URL(name, HOME).href;
/** True if the name contains a hash of the content, so that any build's copy is valid. */
const isNamedByContent = (address) => /-[0-9a-f]{15,16}(_bg)?\.\w+$/.test(address);

/** Fetches the files that the cache lacks, one after the other, to leave the network to the
 * reader. If a file is not of this build (the server is being updated, or serves an old copy),
 * nothing is installed and the next visit tries again. */
async function fill() {
  const cache = await caches.open(OWN);
  for (const [name, integrity] of Object.entries(FILES)) {
    const address = addressOf(name);
    if (await cache.match(address)) continue;
    const ofContent = isNamedByContent(address);
    const known = ofContent && (await caches.match(address));
    const response = known || (await fetch(address, { integrity, cache: ofContent ? "default" : "no-cache" }));
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    await cache.put(address, response);
  }
}

async function kept(request, address) {
  const own = await caches.open(OWN).then((cache) => cache.match(address));
  // A page of an earlier build that was taken over while open still asks for files of its build.
  return own ?? (isNamedByContent(address) ? await caches.match(address) : undefined) ?? fetch(request);
}

/** Deletes the caches of earlier builds, if the asking page is of this build and the only one
 * open. */
async function tidy({ id }, build) {
  if (build !== BUILD || self.registration.waiting || self.registration.installing) return;
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (pages.some((page) => page.id !== id)) return;
  const names = await caches.keys();
  await Promise.all(names.filter((name) => /^headroom-[0-9a-f]+$/.test(name) && name !== OWN).map((name) => caches.delete(name)));
}

self.addEventListener("install", (event) => event.waitUntil(new Promise((rested) => setTimeout(rested, REST_MS)).then(fill)));
// Pages that were open before can be taken over, because files named by their content are valid for
// them, too.
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("message", (event) => {
  const { take, tidied } = event.data ?? {};
  if (take) self.skipWaiting();
  if (tidied) event.waitUntil(tidy(event.source, tidied));
});
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const address = new URL(request.url);
  address.hash = "";
  if (request.method !== "GET" || !address.href.startsWith(HOME.href)) return;
  if (request.mode === "navigate") {
    if ([HOME.pathname, `${HOME.pathname}index.html`].includes(address.pathname)) event.respondWith(kept(request, HOME.href));
    return;
  }
  event.respondWith(kept(request, address.href));
});
