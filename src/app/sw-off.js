// Switches the service worker off: put in the place of sw.js on the server, this file makes every
// browser delete its cached files and use the network again.
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) =>
  event.waitUntil(
    (async () => {
      for (const name of await caches.keys()) if (name.startsWith("headroom-")) await caches.delete(name);
      await self.registration.unregister();
    })(),
  ),
);
