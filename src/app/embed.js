// Inside another page: the way to the whole one, with what is shown now.

const full = document.createElement("a");
full.className = "button embed__full";
full.target = "_blank";
full.rel = "noopener";
full.textContent = "Open full";
full.dataset.testid = "open-full";

/** The link that the printed page would carry; before the program runs, the frame's own. */
const point = () => {
  const printed = document.querySelector(".printed__link")?.textContent?.split(" · ")[0];
  full.href = printed || location.href.replace(/&?embed=[^&]*/, "");
};

point();
// Whatever leads to a click comes after one of these.
for (const sign of ["pointerenter", "pointerdown", "touchstart", "focus", "keydown", "contextmenu"]) full.addEventListener(sign, point);
document.body.append(full);
