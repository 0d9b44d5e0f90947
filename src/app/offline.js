// Keeps the page for visits without a network, and says when a newer version is ready. Without any of this the page
// works as before, so that nothing here is worth a message when it fails.

/** How often a page that stays open asks for a newer version, at most. */
const HOUR = 3_600_000;

const build = document.querySelector("meta[name=headroom-build]")?.content;
/** Somebody pays for every byte, or waits long for it. */
const isDear = navigator.connection?.saveData || /2g/.test(navigator.connection?.effectiveType ?? "");

/** One sentence and a button; the page goes on until it is pressed. */
function tell(registration) {
  if (document.getElementById("newer")) return;
  const place = document.createElement("div");
  place.id = "newer";
  place.className = "toast newer";
  place.setAttribute("role", "status");
  document.body.append(place);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button";
  button.textContent = "Reload";
  button.addEventListener("click", () => {
    // The link in the address bar follows the page after a moment; the reload must bring the same scenario.
    navigator.serviceWorker.addEventListener("controllerchange", () => setTimeout(() => location.reload(), 500), { once: true });
    registration.waiting?.postMessage({ take: true });
  });
  // In a task of its own: screen readers announce what changes in a place that was there.
  setTimeout(() => place.append("A newer version is ready.", button));
}

async function keep() {
  const worker = navigator.serviceWorker;
  const registration = await worker.register("./sw.js");
  const look = () => registration.waiting && worker.controller && tell(registration);
  look();
  const follow = () => registration.installing?.addEventListener("statechange", look);
  follow();
  registration.addEventListener("updatefound", follow);
  await worker.ready;
  worker.controller?.postMessage({ tidied: build });
  let asked = Date.now();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || Date.now() - asked < HOUR) return;
    asked = Date.now();
    registration.update().catch(() => {});
  });
}

if (build && !isDear) keep().catch(() => {});
