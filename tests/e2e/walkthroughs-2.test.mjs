// A newcomer's tasks: walkthroughs 10, 11, 13 and 14 of the guide.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axe, noConsoleErrors } from './harness.mjs';
import { enter, go, onlyKeys, openByKeys } from './keys.mjs';
import { address, answer, command, input, link, moved, open, part, plain, sameAsCommand, textOf, type, until } from './steps.mjs';

const GIB = 2 ** 30;

// ---- 10 ----

test('walkthrough 10: a second link in the same tab', async () => {
  const first = 'v1&m=llama3-70b&n=64&z=2';
  const second = 'v1&m=llama2-7b&n=4';
  const page = await open(first);
  const opened = await answer(page);
  // Edits that are not shared.
  await type(page, 'n', '128');
  await type(page, 's', '4096');
  const edited = await answer(page);
  const own = await address(page);
  // Opens a link as a paste into the address bar does.
  await moved(page, () => page.goto(`${page.url().split('#')[0]}#${second}`));
  const other = await answer(page);
  assert.match(other.headline, /Llama 2 7B on 4 ×/);
  await sameAsCommand(page);
  // The edits are not lost: undo brings them back, and redo the link.
  await page.keyboard.press('Control+z');
  assert.deepEqual(await answer(page), edited);
  await page.keyboard.press('Control+Shift+z');
  assert.deepEqual(await answer(page), other);
  // The browser's Back goes to the earlier link, and Forward to the second one.
  assert.equal(await address(page), await link(page));
  await moved(page, () => page.goBack());
  assert.equal(await link(page), own);
  assert.deepEqual(await answer(page), edited);
  await moved(page, () => page.goForward());
  assert.deepEqual(await answer(page), other);
  // Undo leads back all the way.
  assert.notDeepEqual(opened, edited);
  noConsoleErrors(page);
});

// ---- 11 ----

const rows = (page) => part(page, 'saved').locator('.saved__row');
const names = async (page) => (await rows(page).locator('.saved__name button').allTextContents()).map(plain).sort();

async function save(page, name) {
  await part(page, 'save').click();
  await page.locator('#save-name').fill(name);
  await part(page, 'save-confirm').click();
}

test('walkthrough 11: five scenarios in two tabs, storage nearly full, then a private window', async () => {
  const one = await open('v1&m=llama3-8b&n=8');
  const two = await open('v1&m=llama3-70b&n=64', { context: one.context() });
  // Another page of the origin has filled the storage, except for one or two thousand letters.
  await one.evaluate(() => {
    for (const size of [1 << 20, 1 << 10]) {
      try {
        for (let number = 0; ; number += 1) localStorage.setItem(`other:${size}:${number}`, 'a'.repeat(size));
      } catch {
        // There is no room at this size, so a smaller one is tried.
      }
    }
    localStorage.removeItem('other:1024:0');
  });
  // Both tabs save in turn, until one gets the message that there is no room.
  const kept = [];
  let refused;
  for (let number = 1; number <= 40 && !refused; number += 1) {
    const tab = number % 2 ? one : two;
    const name = `Scenario ${number}`;
    await save(tab, name);
    const outcome = await until(async () => ((await names(tab)).includes(name) && 'kept') || ((await tab.getByText(/storage is full, so this was not saved/).count()) > 0 && 'refused'));
    assert.ok(outcome, `${name} was neither saved nor refused`);
    if (outcome === 'refused') refused = tab;
    else kept.push(name);
  }
  assert.ok(kept.length >= 4 && refused, `${kept} kept`);
  // Nothing is lost silently: both tabs and a third one show all saved scenarios.
  for (const tab of [one, two]) assert.ok(await until(async () => (await names(tab)).length === kept.length), await names(tab));
  const three = await open(undefined, { context: one.context() });
  assert.deepEqual(await names(three), [...kept].sort());
  // The scenario that could not be saved is still on the page.
  await sameAsCommand(refused);
  // It is saved when there is room again.
  await one.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('other:')).forEach((key) => localStorage.removeItem(key)));
  for (const name of ['Room again', 'And another']) {
    await save(two, name);
    assert.ok(await until(async () => (await names(one)).includes(name)), `${name} is not in the other tab`);
  }
  assert.deepEqual(await names(one), [...kept, 'Room again', 'And another'].sort());
  for (const tab of [one, two, three]) noConsoleErrors(tab);

  // In a private window without storage, the shared link opens and works, and the page says that
  // nothing is saved.
  const shared = await link(two);
  const forbid = (page) =>
    page.addInitScript(() => {
      for (const name of ['localStorage', 'sessionStorage', 'indexedDB']) {
        Object.defineProperty(globalThis, name, {
          get() {
            throw new DOMException('not here', 'SecurityError');
          },
        });
      }
    });
  const secret = await open(shared, { prepare: forbid });
  assert.deepEqual(await answer(secret), await answer(two));
  assert.match(await textOf(part(secret, 'notices')), /does not let the page store anything/);
  await type(secret, 'n', '32');
  await sameAsCommand(secret);
  await save(secret, 'Not kept');
  assert.equal(await address(secret), await link(secret), 'the link still carries everything');
  noConsoleErrors(secret);
});

// ---- 13 ----

/** Records the sounds that the page plays: a copy of each sound's samples, and the contexts that
 * are still open. */
const listening = (page) =>
  page.addInitScript(() => {
    globalThis.sounds = [];
    globalThis.contexts = [];
    const { copyToChannel } = AudioBuffer.prototype;
    AudioBuffer.prototype.copyToChannel = function note(samples, ...rest) {
      globalThis.sounds.push({ rate: this.sampleRate, samples: Array.from(samples) });
      return copyToChannel.call(this, samples, ...rest);
    };
    globalThis.AudioContext = class extends AudioContext {
      constructor(...values) {
        super(...values);
        globalThis.contexts.push(this);
      }
    };
  });
const heard = (page) => page.evaluate(() => [globalThis.sounds.length, globalThis.contexts.filter((context) => context.state !== 'closed').length]);

/** The pitch in each of `count` equal stretches of a sound, Hz, by counting how often it rises
 * through zero. */
function pitches({ rate, samples }, count) {
  const length = Math.floor(samples.length / count);
  return Array.from({ length: count }, (_, part) => {
    const rises = [];
    for (let at = part * length + 1; at < (part + 1) * length; at += 1) if (samples[at - 1] < 0 && samples[at] >= 0) rises.push(at);
    return ((rises.length - 1) * rate) / (rises.at(-1) - rises[0]);
  });
}

test('walkthrough 13: a student reads the curve without seeing it', async () => {
  const shared = 'v1&m=llama3-8b&n=8&z=3&gpu=a100-40&s=8192&rc=none';
  const page = await openByKeys(shared, { prepare: listening, reducedMotion: true });
  const plot = await go(page, page.locator('#plot-seq'));
  assert.equal(await plot.getAttribute('role'), 'slider');
  assert.match(await plot.getAttribute('aria-label'), /arrow keys read it/);
  const spoken = () => plot.getAttribute('aria-valuetext').then(plain);
  const polite = async () => plain((await page.locator('[aria-live=polite]').allTextContents()).join(' '));
  // Moves from point to point until memory no longer suffices: "16 384 tokens: 52.0 GiB, over
  // capacity by 12.0".
  await page.keyboard.press('Home');
  assert.match(await spoken(), /tokens: [\d.]+ GiB, [\d.]+ free$/);
  for (let step = 0; step < 60 && !/over capacity/.test(await spoken()); step += 1) await page.keyboard.press('ArrowRight');
  const over = await spoken();
  assert.match(over, /^[\d ]+ tokens: [\d.]+ GiB, over capacity by [\d.]+/);
  assert.ok(await until(async () => (await polite()).includes(over)), 'nothing was announced');
  // The point's number, applied with Enter, is also the answer's and the command's.
  const tokens = Number(await plot.getAttribute('aria-valuenow'));
  await page.keyboard.press('Enter');
  const json = await sameAsCommand(page);
  assert.equal(plain(await input(page, 's').inputValue()).replace(/ /g, ''), String(tokens));
  assert.equal(over.match(/: ([\d.]+) GiB/)[1], (json.total_bytes / GIB).toFixed(1));
  assert.equal(json.verdict, 'does_not_fit');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'plot-seq', 'the focus stays on the curve');
  // The table has the same point.
  await enter(page, part(page, 'curve-seq').locator('summary'));
  const twin = part(page, 'curve-seq').locator('table tbody tr');
  await twin.first().waitFor();
  const cells = (await twin.evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent).join(': ')))).map(plain);
  assert.ok(cells.includes(await spoken()), await spoken());
  assert.deepEqual(await heard(page), [0, 0], 'nothing sounds by itself');
  await axe(page);
  await onlyKeys(page);
  noConsoleErrors(page);
});

test('walkthrough 13: the curve is heard, and silent again', async () => {
  const page = await openByKeys('v1&m=llama3-8b&n=8&z=3&gpu=a100-40&s=8192&rc=none', { prepare: listening, reducedMotion: true });
  await go(page, page.locator('#plot-seq'));
  await page.keyboard.press('t');
  assert.deepEqual(await heard(page), [1, 1]);
  const sound = await page.evaluate(() => globalThis.sounds[0]);
  assert.ok(Math.abs(sound.samples.length / sound.rate - 3) < 0.01, 'three seconds');
  assert.ok(sound.samples.every((sample) => Math.abs(sample) < 0.5), 'too loud');
  // Longer sequences never take less memory, so the pitch never falls. It rises within two octaves
  // from A3.
  const steps = pitches(sound, 12);
  const click = steps.findIndex((pitch, at) => at > 0 && pitch > 1.15 * steps[at - 1] && steps[at + 1] < pitch);
  const tones = steps.filter((_, at) => at !== click);
  assert.ok(tones.every((pitch) => pitch > 215 && pitch < 900), tones.join(' '));
  assert.ok(tones.every((pitch, at) => at === 0 || pitch >= 0.985 * tones[at - 1]) && tones.at(-1) > 1.3 * tones[0], tones.join(' '));
  // Escape ends the sound, and so does pressing the button again.
  await page.keyboard.press('Escape');
  assert.ok(await until(async () => (await heard(page))[1] === 0), 'Escape does not end it');
  const button = part(page, 'curve-gpus').getByRole('button', { name: 'Hear the curve' });
  await enter(page, button);
  assert.deepEqual(await heard(page), [2, 1]);
  const falling = pitches(await page.evaluate(() => globalThis.sounds[1]), 12);
  assert.ok(falling.at(-1) < 0.8 * falling[0], `more GPUs take less: ${falling.join(' ')}`);
  await page.keyboard.press('Enter');
  assert.ok(await until(async () => (await heard(page))[1] === 0), 'the second press does not end it');
  // The sound also ends by itself.
  await page.keyboard.press('Enter');
  assert.deepEqual(await heard(page), [3, 1]);
  assert.ok(await until(async () => (await heard(page))[1] === 0), 'it does not end');
  await onlyKeys(page);
  noConsoleErrors(page);
});

test('walkthrough 13: a browser without sound says so', async () => {
  const page = await open(undefined, { prepare: (tab) => tab.addInitScript(() => delete globalThis.AudioContext) });
  await part(page, 'curve-seq').getByRole('button', { name: 'Hear the curve' }).click();
  await page.getByText(/No sound in this browser/).waitFor();
  noConsoleErrors(page);
});

// ---- 14 ----

/** The height of the smallest letters of the bar and of each shown curve, in CSS pixels. */
const letters = (page) =>
  page.locator(':is(#stack, .curve__svg) svg:has(text)').evaluateAll((charts) =>
    charts
      .map((chart) => {
        const shown = chart.getBoundingClientRect();
        const { width, height } = chart.viewBox.baseVal;
        const size = (text) => parseFloat(getComputedStyle(text).fontSize);
        return Math.min(shown.width / width, shown.height / height) * Math.min(...[...chart.querySelectorAll('text')].map(size));
      })
      .filter((size) => size > 0),
  );

/** Fails unless the charts' letters are as large as the text around them: on paper, from any
 * window, and afterwards in the window. */
async function wordsFitPaper(page) {
  const all = (count, from, to, list) => list.length === count && list.every((size) => size > from && size < to);
  const fitWindow = async () => all(2, 12.3, 12.7, await letters(page));
  // A4 less its margins at 96 pixels an inch; as a window it shows one curve.
  await page.setViewportSize({ width: 711, height: 1055 });
  await page.emulateMedia({ media: 'screen' });
  assert.ok(await until(fitWindow), `in the window: ${await letters(page)}`);
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.ok(all(3, 9.5, 13, await letters(page)), `on paper: ${await letters(page)}`);
  await page.emulateMedia({ media: 'screen' });
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  assert.ok(await until(fitWindow), `after it: ${await letters(page)}`);
  await page.emulateMedia({ media: 'print' });
}

test('walkthrough 14: the answer on paper', async () => {
  const fragment = 'v1&m=llama3-70b&n=64&z=3&s=8192';
  const page = await open(fragment, { colorScheme: 'dark' });
  const shown = await answer(page);
  const json = await sameAsCommand(page);
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  // The PDF is one sheet of A4.
  const pdf = (await page.pdf({ preferCSSPageSize: true, printBackground: true })).toString('latin1');
  assert.equal(pdf.match(/\/Type\s*\/Page\b(?!s)/g).length, 1);
  const [, , width, height] = pdf.match(/\/MediaBox\s*\[([^\]]+)\]/)[1].trim().split(/\s+/).map(Number);
  assert.ok(Math.abs(width - 595) < 2 && Math.abs(height - 842) < 2, `${width} × ${height} points`);
  // Paper is light, also when the screen is dark.
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector('h1')).colorScheme), 'light');
  const seen = async (locator) => (await locator.first().isVisible()) && plain(await locator.first().innerText());
  // The sheet has the form's inputs.
  const inputs = (await page.locator('.printed__input').allInnerTexts()).map(plain);
  for (const text of [/^GPUs 64\b/, /^Sequence length 8 ?192\b/, /^Sharding ZeRO-3/]) assert.ok(inputs.some((line) => text.test(line)), `${text}: ${inputs.join(' | ')}`);
  // Verdict and table have the screen's numbers.
  assert.equal(await seen(part(page, 'verdict').locator('h1')), shown.headline);
  const table = await seen(part(page, 'ledger'));
  for (const line of [...shown.kinds, shown.total]) assert.ok(line.split(' ').slice(-2).every((word) => table.includes(word)), `${line} is not in the printed table`);
  // Both curves are there with their axes.
  for (const name of ['curve-seq', 'curve-gpus']) {
    const box = await part(page, name).locator('svg.chart-curve').boundingBox();
    assert.ok(box.width > 150 && box.height > 80, `${name}: ${JSON.stringify(box)}`);
    assert.equal(await part(page, name).getByRole('button', { includeHidden: false }).count(), 0, `${name} prints a button`);
  }
  await wordsFitPaper(page);
  // The foot has address, version and date, and the address leads back to this answer.
  const foot = await seen(page.locator('.printed__link'));
  assert.match(foot, /Headroom \d+\.\d+\.\d+/);
  assert.match(foot, /\d{2}\/\d{2}\/\d{4}/);
  const printed = foot.match(/http\S+#(\S+)/)[1];
  assert.equal(command(printed, '--json').json.total_bytes, json.total_bytes);
  const reader = await open(printed);
  assert.deepEqual(await answer(reader), shown);
  noConsoleErrors(page);
});
