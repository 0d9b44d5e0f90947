// Adds a link from the page in another page's frame to the full page with the present scenario.

const full = document.createElement("a");
full.className = "button embed__full";
full.target = "_blank";
full.rel = "noopener";
full.textContent = "Open full";
full.dataset.testid = "open-full";

/** Sets the link to the one that the printed page carries; before the program runs, to the
 * frame's own. */
const point = () => {
  const printed = document.querySelector(".printed__link")?.textContent?.split(" · ")[0];
  full.href = printed || location.href.replace(/&?embed=[^&]*/, "");
};

point();
// One of these events comes before every click, so the link is up to date when it is followed.
for (const sign of ["pointerenter", "pointerdown", "touchstart", "focus", "keydown", "contextmenu"]) full.addEventListener(sign, point);
document.body.append(full);
