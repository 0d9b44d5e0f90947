// Explanations of figures: opened by click and by keyboard, kept up to date with the scenario,
// copied, printed, and accessible.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axe, noConsoleErrors, noForeignRequests, single } from './harness.mjs';
import { answer, command, open, part, plain, slowWorkers, type, unroll, until } from './steps.mjs';

const SHORT = 'v1&m=llama3-8b&n=8&z=3';
/** Walkthrough 3: the first document's job, with attention scores in memory. */
const DOCUMENT = 'v1&m=ju-7b&s=4096&gb=128&b=empty&gpu=a100-40&ker=korthikanti&att=standard&rc=none&n=1&z=none&u=gb';

const button = (page, what) => page.getByRole('button', { name: `Explain ${what}`, exact: true });
const place = (page, path) => page.locator(`[data-why="${path}"]`);

/** Unfolds the explanation of a figure and waits for it. */
async function explained(page, what, path) {
  await button(page, what).click();
  const found = place(page, path).locator('.explain');
  await found.waitFor();
  return found;
}

const words = async (locator) => plain(await locator.textContent());

test('a figure unfolds in place: sentence, formula in letters and numbers, result, source, growth', async () => {
  const page = await open(SHORT);
  const all = await explained(page, 'Weights', 'ledger/Weights');
  assert.equal(await button(page, 'Weights').getAttribute('aria-expanded'), 'true');
  assert.ok((await all.locator('math').count()) >= 2);
  assert.match(await words(all), /Weights = .+bytes = .+GiB.+From: exact/);
  // The explanation is in a row of its own below the figure.
  const below = await place(page, 'ledger/Weights').evaluate((element) => {
    const row = element.closest('tr');
    return [row.previousElementSibling.dataset.key, row.firstElementChild.colSpan];
  });
  assert.deepEqual(below, ['ledger/Weights', 4]);
  await button(page, 'Weights').click();
  await place(page, 'ledger/Weights').waitFor({ state: 'detached' });
  assert.equal(await button(page, 'Weights').getAttribute('aria-expanded'), 'false');
  await noForeignRequests(page);
  noConsoleErrors(page);
});

test('while its answer is on the way, an explanation says that it is an earlier scenario’s', async () => {
  const page = await open(SHORT);
  const shown = await explained(page, 'Weights', 'ledger/Weights');
  const before = await words(shown);
  await slowWorkers(page);
  const waits = place(page, 'ledger/Weights').and(page.locator('[aria-busy="true"]'));
  await type(page, 'n', '16');
  await waits.waitFor();
  assert.equal(await words(shown), before);
  await waits.waitFor({ state: 'detached' });
  assert.notEqual(await words(shown), before);
  noConsoleErrors(page);
});

test('the keyboard opens and closes it, and goes on from there', async () => {
  const page = await open(SHORT);
  await button(page, 'Total').focus();
  await page.keyboard.press('Enter');
  await place(page, 'total').locator('math').first().waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Explain Total');
  await page.keyboard.press('Space');
  await place(page, 'total').waitFor({ state: 'detached' });
  noConsoleErrors(page);
});

test('every kind of figure explains itself, several at once, and all of them follow a change', async () => {
  const page = await open('v1&m=llama3-8b&n=8&z=3&gb=64&b=1');
  const figures = [
    ['the count by memory alone', 'gpus/arithmetic', /What GPUs share/],
    ['the first count that works', 'gpus/runnable', /2: yes/],
    ['the peak', 'peak', /max/],
    ['One step', 'time/One step', /Matrix products/],
    ['Matrix products', 'time/Matrix products', /memory bandwidth/],
    ['The run', 'time/The run', /steps/],
    ['Parameters', 'time/Parameters', /embedding/],
    ['Activations', 'ledger/Activations', /s = 8192: |seq_length/],
  ];
  for (const [what, path, says] of figures) assert.match(await words(await explained(page, what, path)), says, path);
  const activations = place(page, 'ledger/Activations').locator('.explain');
  const before = await words(activations);
  await type(page, 's', '16384');
  assert.ok(await until(async () => (await words(activations)) !== before), 'the explanation follows');
  for (const [, path] of figures) assert.equal(await place(page, path).locator('.explain').count(), 1, path);
  noConsoleErrors(page);
});

test('serving explains its times, its cost and its cache', async () => {
  const page = await open('v1&do=serve&m=llama3-8b&n=1');
  for (const [what, path, says] of [
    ['KV cache of one token', 'time/KV cache of one token', /num_key_value_heads/],
    ['Time per output token (TPOT)', 'time/Time per output token (TPOT)', /reading weights or multiplying/],
    ["Cost of a million tokens", "time/Cost of a million tokens", /price/],
    ['KV cache', 'ledger/KV cache', /Twice the context_length: ×2/],
  ]) {
    assert.match(await words(await explained(page, what, path)), says, path);
  }
  noConsoleErrors(page);
});

test('walkthrough 3: two squares of scores in every block, 274.9 GB, grown by the square of the length', async () => {
  const page = await open(DOCUMENT);
  const all = await explained(page, 'Activations', 'ledger/Activations');
  assert.match(await words(all), /= 274\.9 GB \(256\.0 GiB\), 32 times/);
  const drawn = await all.locator('math').evaluateAll((list) => list.map((math) => math.getAttribute('alttext')));
  assert.ok(drawn.includes('2 · b · a · s² · 2'), drawn.join(' | '));
  assert.ok(drawn.map(plain).includes('2 · 128 · 32 · 4096² · 2'), drawn.join(' | '));
  await unroll(page, 'Activations');
  const softmax = await explained(page, 'Activations: Softmax', 'ledger/Activations/Softmax');
  assert.match(await words(softmax), /wice the seq_length: ×4/);
  assert.match(await words(all), /Li Ju 2026 says .+ 2·a·B·s²/);
  noConsoleErrors(page);
});

test('it is copied as text and as LaTeX, the text as the command line prints it', async () => {
  const page = await open(SHORT);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const all = await explained(page, 'Weights', 'ledger/Weights');
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await all.getByRole('button', { name: 'Copy as text' }).click();
  await all.getByText('Copied.').waitFor();
  const text = await clipboard();
  assert.match(text, /^Weights: .+ bytes = /);
  await all.getByRole('button', { name: 'Copy as LaTeX' }).click();
  assert.ok(await until(async () => (await clipboard()).startsWith('\\begin{align*}')), 'LaTeX is there');
  const printed = command('explain', SHORT, 'ledger/Weights');
  assert.equal(plain(printed.out), plain(text));
  noConsoleErrors(page);
});

for (const [name, options] of [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['a phone', { viewport: { width: 360, height: 740 }, touch: true }],
  ['320 pixels', { viewport: { width: 320, height: 640 } }],
  ['forced colours', { forcedColors: true }],
]) {
  test(`axe finds nothing in open explanations, and nothing makes the page wider: ${name}`, async () => {
    const page = await open(DOCUMENT, { reducedMotion: true, ...options });
    for (const [what, path] of [['Activations', 'ledger/Activations'], ['Weights', 'ledger/Weights'], ['Total', 'total'], ['the count by memory alone', 'gpus/arithmetic'], ['GPU-hours', 'time/GPU-hours']]) {
      await explained(page, what, path);
    }
    await axe(page);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    const wide = await page.locator('.explain__box').evaluateAll((boxes) => boxes.map((box) => box.getBoundingClientRect().right <= innerWidth));
    assert.ok(wide.length > 0 && wide.every(Boolean), 'a formula scrolls inside its own box');
    const small = await page.locator('.why:visible').evaluateAll((list, least) => list.filter((one) => one.getBoundingClientRect().height < least).length, options.touch ? 44 : 24);
    assert.equal(small, 0, 'targets');
    noConsoleErrors(page);
    await page.close();
  });
}

const OUT_OF_REACH = /^This part of the page could not be fetched; the answer does not need it\./;
const PROGRAM = '**/headroom-worker-*';

/**
 * Presses “Try again” in place of an explanation, and waits for the explanation. A worker that the
 * page started earlier, while the program could not be fetched, may fail after the button was
 * pressed; the page then shows the button again.
 */
async function tryAgain(page, path) {
  const again = place(page, path).getByRole('button', { name: 'Try again' });
  const shown = place(page, path).locator('.explain');
  await again.click();
  await until(async () => {
    await again.or(shown).first().waitFor();
    if (await again.isVisible()) await again.click();
    return shown.isVisible();
  });
  await shown.waitFor();
  const focused = await page.evaluate(() => document.activeElement.dataset.why);
  assert.equal(focused, path, 'the button that was pressed is gone: the focus is on what came instead');
}

test('a worker that does not come: the place of the explanation says so, the answer goes on, and it is tried again', { skip: single && 'it is one file' }, async () => {
  const page = await open(SHORT, { prepare: (fresh) => fresh.route(PROGRAM, (route) => route.abort()) });
  await button(page, 'Weights').click();
  await place(page, 'ledger/Weights').getByRole('button', { name: 'Try again' }).waitFor();
  assert.match(await words(place(page, 'ledger/Weights')), OUT_OF_REACH);
  await axe(page);
  const before = await answer(page);
  await type(page, 'n', '16');
  assert.notDeepEqual(await answer(page), before);
  // Trying again fails, and the message appears again.
  await place(page, 'ledger/Weights').getByRole('button', { name: 'Try again' }).click();
  await place(page, 'ledger/Weights').getByRole('button', { name: 'Try again' }).waitFor();
  await page.unroute(PROGRAM);
  await tryAgain(page, 'ledger/Weights');
  await page.close();
});

test('a worker that stops while an explanation is open: nothing freezes, and the next one explains what is shown then', async () => {
  const page = await open(SHORT);
  const all = await explained(page, 'Weights', 'ledger/Weights');
  const before = await words(all);
  const worker = page.workers().at(-1);
  const closed = new Promise((done) => worker.once('close', done));
  await worker.evaluate(() => setTimeout(() => { throw new Error('stopped'); }));
  await closed;
  // The shown explanations still hold, so they stay.
  assert.equal(await words(all), before);
  const answered = await answer(page);
  if (!single) await page.route(PROGRAM, (route) => route.abort());
  await type(page, 'n', '16');
  assert.notDeepEqual(await answer(page), answered);
  if (!single) {
    await place(page, 'ledger/Weights').getByRole('button', { name: 'Try again' }).waitFor();
    assert.match(await words(place(page, 'ledger/Weights')), OUT_OF_REACH);
    assert.equal(await button(page, 'Weights').getAttribute('aria-expanded'), 'true');
    await page.unroute(PROGRAM);
    await tryAgain(page, 'ledger/Weights');
  }
  assert.ok(await until(async () => (await words(all)) !== before), 'a new worker explains the present scenario');
  // The explanation is closed and opened as before.
  await button(page, 'Weights').click();
  await place(page, 'ledger/Weights').waitFor({ state: 'detached' });
  await page.close();
});

test('paper shows what is open, without its buttons', async () => {
  const page = await open(SHORT);
  const all = await explained(page, 'Weights', 'ledger/Weights');
  await page.emulateMedia({ media: 'print' });
  assert.equal(await all.isVisible(), true);
  assert.equal(await button(page, 'Weights').isVisible(), false);
  assert.equal(await all.getByRole('button', { name: 'Copy as text' }).isVisible(), false);
  noConsoleErrors(page);
});
