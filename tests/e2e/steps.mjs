// Steps that a reader takes on the page and texts that they read there, shared by the end-to-end
// tests.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { openPage } from './harness.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const LINKS = path.resolve(HERE, '../links');

/** Milliseconds that a scenario must stay unchanged before the page writes its link, plus a
 * reserve for a busy machine. */
export const LINK_RESTS_MS = 550;

/** Milliseconds that the answer must stay unchanged before the panels far below it follow, plus
 * a reserve. */
export const FAR_RESTS_MS = 300;

/** Opens the page and waits until the program has taken the place of the frame in the HTML. */
export async function open(fragment, options = {}) {
  const page = await openPage({ fragment, ...options });
  await ready(page);
  return page;
}

/** Waits until the program is running. */
export async function ready(page) {
  await page.locator('#app[data-live]').waitFor({ state: 'attached' });
  await page.locator('#announcer').waitFor({ state: 'attached' });
}

/** The panel or button with that `data-testid`. */
export function part(page, name) {
  return page.getByTestId(name);
}

/** The input of a field, by its key in links. */
export function input(page, key) {
  return page.locator(`#f-${key}`);
}

/** The error line of a field. */
export function errorOf(page, key) {
  return page.getByTestId(`error-${key}`);
}

/** Text with every kind of space as one plain space. */
export function plain(text) {
  return (text ?? '').replace(/\s+/g, ' ').trim();
}

/** Text of an element, with plain spaces. */
export async function textOf(locator) {
  return plain(await locator.textContent());
}

/** Opens every fold of the form. */
export async function unfold(page) {
  const folds = page.locator('.controls details.fold');
  for (let index = 0; index < (await folds.count()); index += 1) {
    const fold = folds.nth(index);
    // A fold without applicable inputs is hidden.
    if (!(await fold.isVisible())) continue;
    if (!(await fold.evaluate((element) => element.open))) await fold.locator('summary').click();
  }
  // The content of the last fold is created after its event.
  await painted(page);
}

/** Opens everything that opens: folds, entries of the ledger and what they are made of. */
export async function openAll(page) {
  await allFetched(page);
  await unfold(page);
  for (const summary of await page.locator('details:not([open]) > summary').all()) if (await summary.isVisible()) await summary.click();
  for (const name of ['Weights', 'Optimizer states', 'Activations']) await unroll(page, name);
  for (const button of await page.locator('tr.ledger__item .ledger__toggle').all()) await button.click();
  // From the top: a row that the sticky bar cuts has a small target only where the reader stopped.
  await page.evaluate(() => globalThis.scrollTo(0, 0));
}

/** Makes sure that a field's input is in sight, and returns it. */
export async function reach(page, key) {
  const field = input(page, key);
  if (!(await field.isVisible())) await unfold(page);
  await field.waitFor();
  return field;
}

/** Sets a field's text with a single input event. */
export async function type(page, key, text) {
  await (await reach(page, key)).fill(text);
}

/** Chooses an option by the word that links use for it. */
export async function choose(page, key, word) {
  await (await reach(page, key)).selectOption(word);
}

/** Searches in a list of models or GPUs and takes the first hit with that name. */
export async function pick(page, key, search, name) {
  const field = await reach(page, key);
  await field.click();
  await field.fill(search);
  await page.locator(`#l-${key}`).getByRole('option').filter({ hasText: name }).first().click();
}

/** Chooses the mode: `'train'`, `'tune'` or `'serve'`. */
export async function mode(page, name) {
  await part(page, `mode-${name}`).click();
}

/** The link of the present scenario, read from the printed page, which does not have the address
 * bar's delay. */
export async function link(page) {
  const printed = await page.evaluate(() => {
    dispatchEvent(new Event('beforeprint'));
    const { textContent } = document.querySelector('.printed__link');
    dispatchEvent(new Event('afterprint'));
    return textContent;
  });
  return printed.split(' · ')[0].split('#')[1];
}

/** Waits until `check` returns something true, and returns it. After ten seconds it returns the
 * last value, so that the assertion after it fails. */
export async function until(check) {
  let found = await check();
  for (let look = 0; look < 100 && !found; look += 1) {
    await new Promise((done) => setTimeout(done, 100));
    found = await check();
  }
  return found;
}

/** Waits until the parts that are drawn after the first picture (form, fixes, time, cost) are
 * there: the page has requested its frame and timer before this function does. */
export function painted(page) {
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50))));
}

/** Delays all further questions of the page to its workers by a second. */
export async function slowWorkers(page) {
  await page.evaluate(() => {
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function later(message) {
      setTimeout(() => post.call(this, message), 1000);
    };
  });
}

/** The fragment in the address bar after the pause: the link of the present scenario, or
 * whatever is there after a while. */
export async function address(page) {
  await page.waitForTimeout(LINK_RESTS_MS);
  const written = () => page.evaluate(() => location.hash.slice(1));
  await until(async () => (await written()) === (await link(page)));
  return written();
}

/** Runs `move`, which changes the fragment, and waits until the page has received the change and
 * drawn its effect. */
export async function moved(page, move) {
  await page.evaluate(() => {
    globalThis.heard = new Promise((done) => {
      // The timer runs after the page's own listener and after the work that it postpones to the
      // end of its turn.
      addEventListener('hashchange', () => setTimeout(done), { once: true });
    });
  });
  await move();
  await page.evaluate(() => globalThis.heard);
}

/** Changes the fragment as a paste into the address bar does, and waits until the page has read
 * it. */
export async function paste(page, fragment) {
  await moved(page, () =>
    page.evaluate((text) => {
      location.hash = text;
    }, fragment),
  );
}

/** Opens the dialog for pasting and puts a text into it. */
export async function pasteText(page, text) {
  await part(page, 'paste').click();
  await part(page, 'paste-text').fill(text);
}

/** All texts of the answer, with plain spaces. */
export async function answer(page) {
  const figure = await textOf(page.locator('.verdict__figure'));
  const caption = await textOf(page.locator('.verdict__caption'));
  const kinds = await page.locator('tr.ledger__kind').evaluateAll((rows) =>
    rows.map((row) => [row.querySelector('th').textContent, row.querySelector('td').textContent]),
  );
  return {
    headline: await textOf(part(page, 'verdict').locator('h1')),
    margin: `${figure} ${caption}`,
    kinds: kinds.map(([name, amount]) => `${plain(name)} ${plain(amount)}`),
    total: await textOf(part(page, 'total')),
    arithmetic: await textOf(part(page, 'gpu-arithmetic')),
    runnable: await textOf(part(page, 'gpu-runnable')),
    reason: await textOf(part(page, 'gpu-reason')),
  };
}

/** Opens a kind of memory in the ledger, unless it is open. */
export async function unroll(page, kind) {
  const button = part(page, 'ledger').locator('tr.ledger__kind').getByRole('button', { name: kind, exact: true });
  if ((await button.count()) > 0 && (await button.getAttribute('aria-expanded')) === 'false') await button.click();
}

/** Runs the command line of the same build: exit code, output, and the answer as JSON where
 * there is one. */
export function command(fragment, ...options) {
  const target = process.env.CARGO_TARGET_DIR ?? path.resolve(HERE, '../../target');
  const program = ['debug', 'release'].map((profile) => path.join(target, profile, 'headroom')).find(existsSync);
  assert.ok(program, 'the command line is missing: run `cargo build --bin headroom` first');
  const run = spawnSync(program, [fragment, ...options], { encoding: 'utf8' });
  const json = options.includes('--json') && run.status !== 2 ? JSON.parse(run.stdout) : undefined;
  return { code: run.status, out: run.stdout, error: run.stderr, json };
}

/**
 * Fails unless page and command line agree on the page's scenario word for word: sentence, margin,
 * ledger, both GPU counts and their reason. Returns the command's JSON, whose memory is in bytes.
 */
export async function sameAsCommand(page) {
  const fragment = await link(page);
  const shown = await answer(page);
  const text = command(fragment).out;
  const lines = text.split('\n').filter((line) => !line.startsWith('note: '));
  assert.equal(shown.headline, plain(lines[0]));
  assert.equal(`${shown.margin}.`, plain(lines[1]));
  // `Weights   131.4 GiB   17 %`: name, amount, share; the parts of a kind are indented.
  const rows = lines.filter((line) => /^\S.* (GiB|GB) {2}.*%$/.test(line)).map((line) => plain(line).replace(/ (< )?[\d.,  ]+ %$/, ''));
  assert.deepEqual([...shown.kinds, `Total ${shown.total}`], rows);
  const { json } = command(fragment, '--json');
  const count = (gpus) => (gpus === null ? 'none' : gpus === 1 ? '1 GPU' : `${gpus.toLocaleString('en').replace(/,/g, ' ')} GPUs`);
  // Where memory alone lets no count do, the sentence says so and has no figure.
  const byMemory = json.gpus.arithmetic === null ? '' : count(json.gpus.arithmetic);
  assert.equal(shown.arithmetic.replace(/(\d) (\d)/g, '$1$2'), byMemory.replace(/(\d) (\d)/g, '$1$2'));
  assert.equal(shown.runnable.replace(/(\d) (\d)/g, '$1$2'), count(json.gpus.runnable).replace(/(\d) (\d)/g, '$1$2'));
  assert.equal(shown.reason, plain(json.gpus.reason));
  return json;
}

/** Bytes of one kind of memory, or of one line of it, in a command's JSON. */
export function bytesOf(json, kind, label) {
  const lines = json.ledger.filter((line) => line.kind === kind && (label === undefined || line.label === label));
  return lines.reduce((sum, line) => sum + line.bytes, 0);
}

/** The panels that the worker program fills. */
const FAR = ['methods', 'evidence', 'accuracy'];

/** Scrolls to a panel of the worker program and waits until it belongs to the present scenario. */
export async function fetched(page, id) {
  // Panels far below the answer follow after a pause.
  await page.waitForTimeout(FAR_RESTS_MS);
  const panel = page.locator(`#${id}`);
  await panel.evaluate((element) => element.scrollIntoView({ behavior: 'instant' }));
  // For a scenario without an answer the panel has no table, only a line that says so.
  const inside = (await page.getByTestId('refused').count()) > 0 && id !== 'accuracy' ? '' : ' table';
  await page.locator(`#${id}:not([aria-busy])${inside}`).first().waitFor({ state: 'attached' });
  return panel;
}

/** Fetches all panels of the worker program, and restores the scroll position. */
export async function allFetched(page) {
  const top = await page.evaluate(() => scrollY);
  for (const id of FAR) await fetched(page, id);
  await page.evaluate((y) => scrollTo({ top: y, behavior: 'instant' }), top);
}

/** The column of one method in the panel of methods: `division`, `runnable`, `why`, `weights`
 * and so on -> text. */
export async function methodColumn(page, title) {
  const panel = await fetched(page, 'methods');
  const heads = (await panel.locator('table').first().locator('thead th').allTextContents()).map(plain);
  const at = heads.indexOf(title);
  assert.ok(at > 0, `no method is called ${title}: ${heads}`);
  const rows = await panel.locator('tr[data-testid^="methods-row-"]').evaluateAll((list, column) => list.map((row) => [row.dataset.testid, row.children[column]?.textContent]), at);
  return Object.fromEntries(rows.map(([name, text]) => [name.replace('methods-row-', ''), plain(text)]));
}

/** Fails when the page's text or a value in it contains NaN, infinity, undefined or an object. */
export async function noBrokenNumbers(page) {
  await allFetched(page);
  const text = await page.evaluate(() => {
    const values = [...document.querySelectorAll('[aria-valuetext], [aria-label], [aria-valuenow], [aria-valuemax]')].flatMap((element) =>
      ['aria-valuetext', 'aria-label', 'aria-valuenow', 'aria-valuemax'].map((name) => element.getAttribute(name) ?? ''),
    );
    const drawn = [...document.querySelectorAll('svg [d], svg [x], svg [points]')].map(
      (element) => `${element.getAttribute('d')} ${element.getAttribute('x')} ${element.getAttribute('points')}`,
    );
    // Typed text is in inputs and in quotes and may be anything, so it is left out.
    return [document.getElementById('app').textContent.replace(/“[^”]*”/g, ''), ...values, ...drawn].join('\n');
  });
  const broken = text.match(/.{0,30}(\bNaN\b|∞|\binf(inity)?\b|undefined|\[object).{0,30}/i);
  assert.equal(broken?.[0], undefined);
}

/** Waits for a download that `action` starts, and returns its text. */
export async function downloaded(page, action) {
  const [download] = await Promise.all([page.waitForEvent('download'), action()]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
}

/** The frozen links: file name, link, and expected results as lines `key = value`. */
export function frozenLinks() {
  return readdirSync(LINKS)
    .filter((file) => file.endsWith('.txt'))
    .sort()
    .map((file) => {
      const lines = readFileSync(path.join(LINKS, file), 'utf8').split('\n');
      const pairs = lines.filter((line) => line.includes(' = ')).map((line) => line.split(/ = (.*)/s).slice(0, 2));
      const values = Object.fromEntries(pairs);
      const notices = pairs.filter(([key]) => key === 'notice').map(([, text]) => text);
      return { file, link: values.link, failed: values.failed === 'true', count: Number(values.notices), notices, values };
    });
}

/** The part of a text after `#`; the whole text where there is no `#`. */
export function fragmentOf(text) {
  return text.includes('#') ? text.slice(text.indexOf('#') + 1) : text;
}
