// From a change of any input to the new answer on the screen: ledger, both curves, and the frame after them.
//
// Measured in the page: from just before the event is dispatched until the document holds what follows from the change, and then until
// the browser has painted it (the next animation frame, and a message after that frame). Nothing is subtracted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noConsoleErrors } from './harness.mjs';
import { open, reach } from './steps.mjs';

/** The bars of the project, milliseconds; a busy machine may take three times as long before the test fails. */
const MEDIAN_MS = 16;
const P95_MS = 33;
const PATIENCE = 3;
const ROUNDS = 5;

/** Fields and the values they go through; every value changes the memory, so that ledger and both curves must be drawn anew. */
const CHANGES = [
  ['s', ['4096', '16k', '32k', '2048', '8192']],
  ['b', ['2', '3', '4', '8', '1']],
  ['kv', ['1', '2', '4', '32', '8']],
  ['n', ['16', '32', '64', '24', '8']],
  ['rc', ['none', 'selective', 'full', 'none', 'full']],
  ['prec', ['fp32', 'bf16-pure', 'fp32', 'bf16-pure', 'bf16']],
  ['opt', ['adamw8', 'sgd', 'sgdm', 'adafactor', 'adamw']],
  ['z', ['1', 'none', '2', '3', 'fsdp']],
  ['tp', ['2', '4', '8', '2', '1']],
  ['h', ['4224', '4352', '4480', '5120', '4096']],
  ['l', ['33', '34', '40', '48', '32']],
  ['ff', ['8192', '10240', '12288', '16384', '14336']],
  ['v', ['32000', '50304', '64000', '256000', '128256']],
  ['ker', ['korthikanti', 'fused', 'korthikanti', 'fused', 'korthikanti']],
  ['att', ['standard', 'flash', 'standard', 'flash', 'standard']],
  ['hd', ['64', '96', '160', '256', '128']],
  ['mem', ['40', '94', '141', '24', '79.6475']],
  ['fc', ['0', '2', '3', '4', '1.3']],
  ['fr', ['0', '5', '10', '15', '3']],
  ['u', ['gb', 'gib', 'gb', 'gib', 'gb']],
];

/** Runs in the page: makes one change and returns how long it took, or nothing where the change had no effect. */
function measure({ key, value }) {
  const element = document.getElementById(`f-${key}`) ?? document.querySelector(`[data-testid="unit-${value === 'gb' ? 'GB' : 'GiB'}"]`);
  const watched = {
    ledger: document.querySelector('[data-testid="ledger"]'),
    seq: document.querySelector('[data-testid="curve-seq"] .curve__svg'),
    gpus: document.querySelector('[data-testid="curve-gpus"] .curve__svg'),
  };
  const look = () => ({ ledger: watched.ledger.textContent, seq: watched.seq.innerHTML, gpus: watched.gpus.innerHTML });
  const before = look();
  const event = new Event(element.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true });
  return new Promise((resolve) => {
    const waiting = new Set(Object.keys(watched));
    const observers = [];
    const giveUp = setTimeout(() => finish(undefined), 400);
    const finish = (time) => {
      clearTimeout(giveUp);
      for (const observer of observers) observer.disconnect();
      resolve(time);
    };
    let start = 0;
    const painted = () =>
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => {
          const time = performance.now() - start;
          const after = look();
          const changed = Object.keys(before).every((name) => before[name] !== after[name]);
          finish(changed ? time : undefined);
        };
        channel.port2.postMessage(undefined);
      });
    for (const [name, node] of Object.entries(watched)) {
      const observer = new MutationObserver(() => {
        observer.disconnect();
        waiting.delete(name);
        if (waiting.size === 0) painted();
      });
      observer.observe(node, { childList: true, subtree: true, characterData: true, attributes: true });
      observers.push(observer);
    }
    start = performance.now();
    if (element.tagName === 'BUTTON') {
      element.click();
    } else {
      element.value = value;
      element.dispatchEvent(event);
    }
  });
}

/** The middle of a sorted list, or another share of it. */
const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];

/** Makes all changes once and returns how long each took. */
async function round(page) {
  const times = [];
  const slow = [];
  const silent = [];
  for (let at = 0; at < ROUNDS; at += 1) {
    for (const [key, values] of CHANGES) {
      const time = await page.evaluate(measure, { key, value: values[at] });
      if (time === undefined) silent.push(`${key}=${values[at]}`);
      else times.push(time);
      if (time > P95_MS) slow.push(`${key}=${values[at]} ${time.toFixed(0)}`);
    }
  }
  // A change that moves nothing in the ledger or in one of the curves is not counted; more lengths fill up.
  for (let extra = 0; times.length < 100 && extra < 100; extra += 1) {
    const time = await page.evaluate(measure, { key: 's', value: String(5000 + 100 * extra) });
    if (time !== undefined) times.push(time);
  }
  times.sort((a, b) => a - b);
  const [median, p95] = [quantile(times, 0.5), quantile(times, 0.95)];
  console.log(`input to repaint: median ${median.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms over ${times.length} changes`);
  if (slow.length > 0) console.log(`above ${P95_MS} ms: ${slow.join(', ')}`);
  if (silent.length > 0) console.log(`not counted, because ledger or a curve stayed the same: ${silent.join(', ')}`);
  assert.ok(times.length >= 100, `only ${times.length} changes were seen; none in ${silent.join(', ')}`);
  return { median, p95 };
}

test('a change of any input is on the screen within two frames', async () => {
  const page = await open(undefined, { viewport: { width: 1280, height: 720 } });
  for (const [key] of CHANGES) if (key !== 'u') await reach(page, key);
  // Once without counting, as after the first minute of use.
  for (const value of ['4096', '8192']) await page.evaluate(measure, { key: 's', value });
  const slow = ({ median, p95 }) => median > PATIENCE * MEDIAN_MS || p95 > PATIENCE * P95_MS;
  let times = await round(page);
  // Other work on the machine may have come between: the page gets one more chance, and both are printed.
  if (slow(times)) times = await round(page);
  assert.ok(!slow(times), `median ${times.median} ms, p95 ${times.p95} ms`);
  noConsoleErrors(page);
});
