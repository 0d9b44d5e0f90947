// The changes with which the page's speed is measured, and the measurement of one. speed.test.mjs
// judges the times; floor.mjs tells how much of them the browser alone takes.

export const ROUNDS = 5;

/** Fields with the values that they take in turn. Every value changes the memory, so that ledger
 * and both curves are drawn anew. */
export const CHANGES = [
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

/** Runs in the page: makes one change and returns how long it took, or nothing where the change
 * had no effect. */
export function measure({ key, value }) {
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

/** Lets the page come to rest, as it is when a person changes something: all work after the last
 * change is done, and the next frame is at a random distance. */
export const rest = () => new Promise((resolve) => setTimeout(resolve, 150 + 17 * Math.random()));

/** Runs in the page: milliseconds of writing and reading a list as JSON, the best of five. Shows
 * how fast the machine is at this moment. */
export function pace() {
  const list = Array.from({ length: 20000 }, (_, at) => ({ name: `row ${at}`, bytes: at * 12345, kind: 'weights' }));
  const runs = Array.from({ length: 5 }, () => {
    const start = performance.now();
    const read = JSON.parse(JSON.stringify(list));
    return read.length === list.length ? performance.now() - start : Infinity;
  });
  return Math.min(...runs);
}

/** The quantile of a sorted list: 0.5 is the median. */
export const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
