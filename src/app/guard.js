// Shows the overlay of index.html when the program cannot start or has stopped, so it works without
// the program.
(() => {
  // In another page's frame, the style sheet hides everything around the answer.
  if (/[#&]embed=/.test(location.hash)) document.documentElement.dataset.embed = "";
  // A link has another answer than the one in the HTML, so the style sheet hides that one.
  if (location.hash.includes("=")) document.documentElement.dataset.link = "coming";
  const stopped = () => document.getElementById("stopped");
  const show = (why) => {
    // The link's answer does not come any more, so the answer in the HTML may show.
    delete document.documentElement.dataset.link;
    const overlay = stopped();
    if (!overlay) return;
    const link = document.getElementById("stopped-link");
    if (link) link.textContent = location.href;
    const text = document.getElementById("stopped-why");
    if (text && why) text.textContent = why;
    overlay.hidden = false;
  };
  const cannotStart = "The page could not start: it needs WebAssembly, and the browser could not load or run it. The answer behind this message is the one for the default scenario.";
  const fatal = (error) => typeof WebAssembly !== "undefined" && error instanceof WebAssembly.RuntimeError;
  // Scripts of browser extensions may fail on the page, too; their errors are ignored.
  const ours = (event) => event.target instanceof HTMLScriptElement || (event.filename ?? "").startsWith(new URL(".", location.href).href);
  let started = false;
  addEventListener("HeadroomStarted", () => {
    started = true;
  });
  // The listener captures, because the error event of a missing file does not bubble.
  addEventListener("error", (event) => {
    if (fatal(event.error)) show();
    else if (!started && ours(event)) show(cannotStart);
  }, true);
  addEventListener("unhandledrejection", (event) => {
    if (fatal(event.reason)) show();
    else if (!started) show(cannotStart);
  });
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("stopped-reload")?.addEventListener("click", () => location.reload());
    document.getElementById("stopped-close")?.addEventListener("click", () => {
      stopped().hidden = true;
    });
  });
})();
