// Keeps the page for visits without a network, and says when a newer version is ready. The page
// also works without it, so failures here show no message.

/** How often a page that stays open asks for a newer version, at most. */
const HOUR = 3_600_000;

const build = document.querySelector("meta[name=headroom-build]")?.content;
/** True where the reader pays for data or has a slow connection. */
const isDear = navigator.connection?.saveData || /2g/.test(navigator.connection?.effectiveType ?? "");

/** Shows a sentence and a button; the present version keeps running until it is pressed. */
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
    // The address bar gets the scenario's link after a delay, so the reload waits for it to keep
    // the scenario.
    navigator.serviceWorker.addEventListener("controllerchange", () => setTimeout(() => location.reload(), 500), { once: true });
    registration.waiting?.postMessage({ take: true });
  });
  // The text is added in a later task, because screen readers announce changes only in an element
  // that already exists.
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
