// Works without the program: shows the overlay of index.html when the program cannot start or has stopped.
(() => {
  const stopped = () => document.getElementById("stopped");
  const show = (why) => {
    const overlay = stopped();
    if (!overlay) return;
    const link = document.getElementById("stopped-link");
    if (link) link.textContent = location.href;
    const text = document.getElementById("stopped-why");
    if (text && why) text.textContent = why;
    overlay.hidden = false;
  };
  const fatal = (error) => error instanceof WebAssembly.RuntimeError;
  const noWasm = typeof WebAssembly === "undefined";
  let started = false;
  addEventListener("TrunkApplicationStarted", () => {
    started = true;
  });
  addEventListener("error", (event) => {
    if (event.error && !noWasm && fatal(event.error)) show();
  });
  addEventListener("unhandledrejection", (event) => {
    if (!started || (!noWasm && fatal(event.reason))) {
      show(started ? undefined : "The page could not start: it needs WebAssembly, and the browser could not load or run it. The answer behind this message is the one for the default scenario.");
    }
  });
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("stopped-reload")?.addEventListener("click", () => location.reload());
    document.getElementById("stopped-close")?.addEventListener("click", () => {
      stopped().hidden = true;
    });
  });
})();
