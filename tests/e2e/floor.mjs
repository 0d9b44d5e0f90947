// Measures the browser's own share of the time in speed.test.mjs. After `cargo xtask build`, run
// `node tests/e2e/floor.mjs`.
//
// Every change of the speed test is made once in the page, and the page's writes into its document
// are recorded, node by node. A few lines of script that compute nothing then repeat these writes,
// and the same clock measures them: from before the first write until the browser has painted. Both
// are measured from rest: right after a frame, most of the time is the wait for the next one, even
// in an empty document, and a program's work would be hidden in that wait. Where nodes were added
// or removed, their whole parent is rewritten, so the result is not a lower bound for the page but
// a rough share. A third figure is that of a document with one word, from rest and right after a
// frame.

import { CHANGES, ROUNDS, measure, quantile, rest } from './changes.mjs';
import { open, reach } from './steps.mjs';

/** Runs in the page: starts to record changes of the document; `cut` ends one change and starts
 * the next. */
function record() {
  const path = (node) => {
    const steps = [];
    for (let at = node; at !== document.body; at = at.parentNode) steps.unshift([...at.parentNode.childNodes].indexOf(at));
    return steps;
  };
  const observer = new MutationObserver((records) => seen.push(...records));
  let seen = [];
  observer.observe(document.body, { childList: true, subtree: true, characterData: true, attributes: true });
  globalThis.changes = [];
  globalThis.cut = () => {
    seen.push(...observer.takeRecords());
    const there = seen.filter(({ target }) => document.body.contains(target));
    const filled = new Set(there.filter(({ type }) => type === 'childList').map(({ target }) => target));
    const inside = (node) => [...filled].some((whole) => whole !== node && whole.contains(node));
    const writes = new Map();
    for (const whole of filled) if (!inside(whole)) writes.set(whole, { path: path(whole), html: whole.innerHTML });
    for (const { type, target, attributeName: name } of there) {
      if (inside(target) || type === 'childList') continue;
      const value = type === 'attributes' ? target.getAttribute(name) : target.data;
      const key = `${path(target)} ${name}`;
      writes.set(key, type === 'attributes' ? { path: path(target), name, value } : { path: path(target), text: value });
    }
    seen = [];
    globalThis.changes.push([...writes.values()]);
  };
}

/** Runs in the page: repeats a recorded change; returns the time until it is painted, and the
 * time of the writing alone. */
function replay(number) {
  const start = performance.now();
  for (const { path, html, text, name, value } of globalThis.changes[number]) {
    const node = path.reduce((at, step) => at?.childNodes[step], document.body);
    if (!node) continue;
    if (html !== undefined) node.innerHTML = html;
    else if (text !== undefined) node.data = text;
    else if (value === null) node.removeAttribute(name);
    else node.setAttribute(name, value);
  }
  const written = performance.now() - start;
  return new Promise((resolve) => {
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => resolve([performance.now() - start, written]);
      channel.port2.postMessage(undefined);
    });
  });
}

const say = (what, times) => {
  times.sort((a, b) => a - b);
  const [median, p95] = [0.5, 0.95].map((share) => quantile(times, share).toFixed(1));
  console.log(`${what.padEnd(58)} median ${median.padStart(5)} ms, p95 ${p95.padStart(5)} ms over ${times.length}`);
};

const page = await open(undefined, { viewport: { width: 1280, height: 720 } });
for (const [key] of CHANGES) if (key !== 'u') await reach(page, key);
for (const value of ['4096', '8192']) await page.evaluate(measure, { key: 's', value });
await page.evaluate(record);
const live = [];
for (let at = 0; at < ROUNDS; at += 1) {
  for (const [key, values] of CHANGES) {
    await rest();
    const time = await page.evaluate(measure, { key, value: values[at] });
    await page.evaluate(() => globalThis.cut());
    if (time !== undefined) live.push(time);
  }
}
const [again, script] = [[], []];
for (let number = 0; number < ROUNDS * CHANGES.length; number += 1) {
  await rest();
  const [all, written] = await page.evaluate(replay, number);
  again.push(all);
  script.push(written);
}
await page.goto('about:blank');
await page.setContent('<p>0</p>');
await page.evaluate(() => {
  globalThis.changes = [0, 1].map((value) => [{ path: [0, 0], text: String(value) }]);
});
const word = async (before) => {
  const times = [];
  for (let number = 0; number < 100; number += 1) {
    await before();
    times.push((await page.evaluate(replay, number % 2))[0]);
  }
  return times;
};
say('the page, from input to repaint', live);
say('the same writes without a program', again);
say('  of which script', script);
say('one word in an empty document', await word(rest));
say('  right after a frame', await word(() => undefined));
process.exit(0);
