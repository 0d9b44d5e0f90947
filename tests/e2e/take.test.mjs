// Exports: files, pictures, one printed sheet, four scenarios in a link, and the page inside
// another page.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { axe, noConsoleErrors, openPage, pageUrl, requestsOf, screenshot, serve, single } from './harness.mjs';
import { allFetched, address, answer, choose, command, downloaded, fetched, link, open, part, plain, ready, sameAsCommand, textOf, type } from './steps.mjs';

const FOUR = 'v1&m=llama3-70b&n=64&z=2&b.z=3&c.new=1&c.m=llama2-7b&c.n=4&d.rc=none';

/** Opens the share dialog and waits for the content that the worker program adds. */
async function share(page) {
  await part(page, 'share').click();
  await page.getByRole('button', { name: 'Answer as Markdown' }).waitFor();
}

const file = (page, name) => downloaded(page, () => page.getByRole('button', { name, exact: true }).click());

test('every file says what the page and the command say, with all pinned scenarios', async () => {
  const page = await open(FOUR);
  await share(page);
  const fragment = await link(page);
  for (const [button, form] of [['Curves as CSV', 'curves.csv'], ['Ledger as CSV', 'ledger.csv'], ['Answer as Markdown', 'answer.md'], ['Inputs as JSON', 'scenario.json']]) {
    const { name, text } = await file(page, button);
    assert.equal(name, `headroom-${form}`);
    // Removes the address and the date, in which page and command differ.
    const stripped = (content) => content.replace(/(https?|file):\/\/[^#\s"]*#/g, '').split('\n').filter((line) => !/^Headroom |"saved_at"/.test(line)).join('\n').trim();
    assert.equal(stripped(text), stripped(command(fragment, '--export', form).out), form);
  }
  const { text } = await file(page, 'Answer as Markdown');
  const { headline, reason } = await answer(page);
  assert.ok(plain(text.replace(/\*\*/g, '')).includes(headline) && plain(text).includes(reason), text);
  assert.ok(text.includes(`\nLink: ${await pageUrl()}#v2&c=`) && /&d\.rc=none\n/.test(text), text.slice(-200));
  await axe(page);
  noConsoleErrors(page);
});

test('inputs as JSON open again through the saved scenarios', async () => {
  const page = await open(FOUR);
  await share(page);
  const { text } = await file(page, 'Inputs as JSON');
  const other = await open();
  await part(other, 'saved').locator('input[type=file]').setInputFiles({ name: 'scenario.json', mimeType: 'application/json', buffer: Buffer.from(text) });
  await part(other, 'saved').locator('.saved__name button').click();
  await part(other, 'compare').locator('table').waitFor();
  assert.deepEqual(await answer(other), await answer(page));
  assert.equal(await link(other), await link(page));
  noConsoleErrors(other);
});

test('pictures carry the colours of the page, in SVG and at twice the size in PNG', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const page = await open('v1&m=llama3-8b&n=8&b.n=16', { colorScheme });
    await share(page);
    const save = async (name) => {
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name, exact: true }).click()]);
      return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
    };
    const svg = await save('Memory by sequence length as SVG');
    assert.equal(svg.name, 'headroom-memory-by-sequence-length.svg');
    const markup = svg.bytes.toString('utf8');
    const seen = await page.evaluate((source) => {
      const made = new DOMParser().parseFromString(source, 'image/svg+xml');
      const ground = made.querySelector('rect[width][height][fill]');
      const root = getComputedStyle(document.documentElement);
      return {
        broken: made.querySelectorAll('parsererror').length,
        title: made.querySelector('title').textContent,
        about: made.querySelector('desc').textContent,
        classes: made.querySelectorAll('[class]').length,
        patterns: [...source.matchAll(/url\(#([\w-]+)\)/g)].map(([, id]) => Boolean(made.getElementById(id))),
        page: ground.getAttribute('fill') === root.getPropertyValue('--chart-page').trim(),
        names: [...made.querySelectorAll('text')].map((text) => text.textContent),
        size: [Number(made.documentElement.getAttribute('width')), Number(made.documentElement.getAttribute('height'))],
      };
    }, markup);
    assert.deepEqual([seen.broken, seen.classes, seen.page], [0, 0, true]);
    // Areas are filled with patterns, and the file has each of them.
    assert.ok(seen.patterns.length > 0 && seen.patterns.every((found) => found), seen.patterns.join());
    assert.match(seen.title, /^Memory by sequence length: (Training|Fine-tuning|Serving) .+ on \d+ × .+/);
    assert.match(seen.about, /#v2&c=.* · Headroom /);
    assert.ok(seen.names.includes('B') && !/var\(|class=/.test(markup));
    const png = await save('Memory by sequence length as PNG');
    assert.equal(png.bytes.subarray(1, 4).toString(), 'PNG');
    assert.deepEqual([png.bytes.readUInt32BE(16), png.bytes.readUInt32BE(20)], seen.size.map((length) => 2 * length));
    // A picture of this size is not of one colour, so the chart was drawn.
    assert.ok(png.bytes.length > 8000, `${png.bytes.length} bytes`);
    // The step's chart can be exported after it has been shown; before that, a message says that it
    // failed.
    await page.getByRole('button', { name: 'Memory over one step as SVG', exact: true }).click();
    await page.getByText('The picture could not be made.').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('#timeline').evaluate((element) => element.scrollIntoView({ behavior: 'instant' }));
    await page.locator('#timeline .chart-step').first().waitFor();
    await share(page);
    for (const name of ['The bar as SVG', 'Memory by number of GPUs as SVG', 'Memory over one step as SVG']) assert.match((await save(name)).bytes.toString(), /^<svg/);
    noConsoleErrors(page);
  }
});

test('four scenarios: pinned, drawn, compared, swapped, let go and taken back', async () => {
  const page = await open('v1&m=llama2-13b&z=2');
  for (const gpus of ['16', '32', '64']) {
    await part(page, 'pin').click();
    await type(page, 'n', gpus);
  }
  assert.ok(await part(page, 'pin').isHidden(), 'three are pinned, there is no room for a fourth');
  const table = part(page, 'compare').locator('table');
  const rows = async () =>
    (await table.locator('tbody tr').evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent)))).map((cells) => cells.map(plain));
  assert.deepEqual((await rows())[0], ['GPUs', '64', '8', '16', '32']);
  for (const curve of ['curve-seq', 'curve-gpus']) {
    const svg = await part(page, curve).locator('.curve__svg').innerHTML();
    assert.deepEqual([...svg.matchAll(/chart-text-compare[^>]*>([A-D])</g)].map(([, letter]) => letter).sort(), ['B', 'C', 'D']);
  }
  const dashes = await page.locator('#plot-gpus').evaluate((plot) =>
    ['.chart-compare', '.chart-compare-c', '.chart-compare-d'].map((line) => getComputedStyle(plot.querySelector(line)).strokeDasharray),
  );
  assert.equal(new Set(dashes).size, 3, `${dashes}`);
  assert.equal(await page.locator('#stack').getByText(/^[ABCD]: /).count(), 4);
  // The shown difference is that of the printed amounts.
  const [name, a, ...others] = (await rows()).find(([row]) => row === 'Memory per GPU');
  assert.equal(name, 'Memory per GPU');
  const tenths = (text) => Math.round(10 * Number(text.replace(/[^\d.−-]/g, '').replace('−', '-')));
  for (const cell of others) {
    const [, value, more] = cell.match(/^(.*GiB) (.*)$/);
    assert.equal(tenths(value) - tenths(a), tenths(more), cell);
  }
  await axe(page);
  // One link carries all four, in a fresh profile too.
  const fragment = await address(page);
  assert.match(fragment, /&n=64&z=2&b\.n=8&c\.n=16&d\.n=32$/);
  const other = await open(fragment);
  assert.deepEqual(await answer(other), await answer(page));
  assert.equal(await textOf(part(other, 'compare').locator('table')), await textOf(table));
  // Swaps and removes scenarios, and undoes it.
  const before = await textOf(table);
  await page.getByRole('button', { name: 'Swap A and C' }).click();
  assert.deepEqual((await rows())[0], ['GPUs', '16', '8', '64', '32']);
  await page.getByRole('button', { name: 'Remove B' }).click();
  assert.deepEqual((await rows())[0], ['GPUs', '16', '64', '32']);
  await part(page, 'undo').click();
  await part(page, 'undo').click();
  assert.equal(await textOf(table), before);
  await page.getByRole('button', { name: 'Stop comparing' }).click();
  assert.equal(await table.count(), 0);
  // On a phone the table scrolls, the page does not.
  const phone = await open(fragment, { viewport: { width: 320, height: 740 } });
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page scrolls sideways');
  await part(phone, 'compare').scrollIntoViewIfNeeded();
  await axe(phone);
  noConsoleErrors(page);
  noConsoleErrors(phone);
});

test('walkthrough 14: one sheet of paper with everything on it', async () => {
  for (const [name, fragment] of [
    ['train', 'v1&m=llama3-70b&n=64&z=3'],
    ['tune', 'v1&do=tune&m=llama3-8b&n=1&ft=qlora'],
    ['serve', 'v1&do=serve&m=llama3-70b&n=4&tp=4&ctx=8192'],
    ['pair', 'v1&m=llama3-70b&n=64&z=3&b.z=2'],
    ['four', FOUR],
  ]) {
    const page = await open(fragment, { colorScheme: 'dark' });
    await allFetched(page); // the sheet for paper comes with the rest
    await part(page, 'curve-gpus').locator('svg.chart-curve').waitFor({ state: 'attached' });
    const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1');
    const sheets = [...pdf.matchAll(/\/Type\s*\/Page\b/g)].length;
    assert.equal(sheets, 1, `${name} takes ${sheets} sheets`);
    await page.emulateMedia({ media: 'print' });
    await screenshot(page, `print-${name}`);
    const printed = plain(await page.locator('body').innerText());
    assert.match(printed, /#v2&c=[^ ]* · Headroom \d+\.\d+\.\d+ · \d\d\/\d\d\/\d{4}/, name);
    assert.ok(await page.locator('.printed svg').isVisible(), `${name}: the code is missing`);
    // With several scenarios, the comparison takes the place of the ledger.
    const sums = fragment.includes('b.') ? 'table.compare' : '.ledger';
    for (const place of ['#plot-seq svg', '#plot-gpus svg', sums, '#stack svg']) assert.ok(await page.locator(place).first().isVisible(), `${name}: ${place}`);
    noConsoleErrors(page);
  }
});

/** A foreign page with our page in a frame. */
async function framed(attributes, fragment, prepare) {
  const ours = `${await pageUrl()}#${fragment}`.replace(/&/g, '&amp;');
  const lesson = `<!doctype html><title>Lesson</title><h1>Lesson</h1><iframe src="${ours}" ${attributes} width="900" height="800"></iframe>`;
  const server = http.createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(lesson));
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  after(() => server.close());
  const page = await openPage({ prepare });
  // `localhost` makes it another site and not only another port.
  await page.goto(`http://localhost:${server.address().port}/`);
  const frame = page.frameLocator('iframe');
  await frame.locator('#app[data-live]').waitFor({ state: 'attached' });
  return { page, frame };
}

test('walkthrough 15: inside a page of somebody else, whose browser gives no storage', { skip: single && 'no server' }, async () => {
  const forbid = (tab) =>
    tab.addInitScript(() => {
      if (window === top) return;
      Object.defineProperty(globalThis, 'localStorage', {
        get() {
          throw new DOMException('third parties store nothing', 'SecurityError');
        },
      });
    });
  for (const [attributes, prepare] of [['', forbid], ['sandbox="allow-scripts allow-popups"', undefined]]) {
    const { page, frame } = await framed(attributes, 'v1&m=llama3-70b&n=16&z=3&embed=1', prepare);
    await frame.locator('[data-testid=verdict] h1').waitFor();
    assert.match(plain(await frame.locator('[data-testid=verdict] h1').textContent()), /Llama 3 70B on 16 ×/);
    for (const hidden of ['.bar', '.foot', '[data-testid=saved]']) assert.ok(await frame.locator(hidden).first().isHidden(), hidden);
    for (const shown of ['#plot-seq svg', '#plot-gpus svg', '#f-m', '#f-n']) assert.ok(await frame.locator(shown).first().isVisible(), shown);
    assert.deepEqual(await frame.locator('.notice__text').allTextContents(), [], 'no word about storage or about the key');
    await frame.locator('#f-n').fill('32');
    await frame.locator('[data-testid=verdict] h1').filter({ hasText: 'on 32 ×' }).waitFor();
    // The link is written after the answer is drawn.
    const written = async () => /[&#]n=32\b/.test((await frame.locator('.printed__link').first().textContent()) ?? '');
    await until(written, 'the link of the new answer', 10_000);
    await page.locator('iframe').scrollIntoViewIfNeeded();
    const full = frame.getByTestId('open-full');
    const [whole] = await Promise.all([page.context().waitForEvent('page'), full.click()]);
    await ready(whole);
    assert.match((await answer(whole)).headline, /Llama 3 70B on 32 ×/);
    assert.ok(!whole.url().includes('embed'), whole.url());
    assert.ok(await whole.locator('.bar').isVisible());
    await sameAsCommand(whole);
  }
});

test('an embedded page keeps being one, and the share dialog says how to make one', async () => {
  const page = await open('v1&m=llama3-70b&n=16&embed=1');
  await type(page, 'n', '32');
  assert.match(await address(page), /&n=32&embed=1$/);
  await page.reload();
  await ready(page);
  assert.ok(await page.locator('.bar').isHidden());
  assert.match((await answer(page)).headline, /on 32 ×/);
  await axe(page);
  await screenshot(page, 'embed');
  noConsoleErrors(page);

  const whole = await open('v1&m=llama3-70b&n=16');
  await share(whole);
  const lines = await whole.locator('#embed-code').inputValue();
  const source = lines.match(/src="([^"]+)"/)[1];
  assert.equal(source, `${await pageUrl()}#${await link(whole)}&embed=1`);
  await whole.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await whole.getByRole('button', { name: 'Copy these lines' }).click();
  await whole.getByText('Copied.').waitFor();
  assert.equal(await whole.evaluate(() => navigator.clipboard.readText()), lines);
  noConsoleErrors(whole);
});

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const skip = single && 'one file keeps itself';

/** Waits up to `ms` until `check` is true, because caching a build takes long on a busy machine. */
async function until(check, what, ms) {
  for (const end = Date.now() + ms; Date.now() < end; await new Promise((done) => setTimeout(done, 200))) {
    if (await check()) return;
  }
  assert.fail(`${what}: not within ${ms / 1000} s`);
}

/** Waits until the service worker has cached the page. */
const isKept = (page) =>
  until(() => page.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.active?.state === 'activated'), 'the page is kept', 60_000);

test('kept for visits without a network, once the page is at rest: answer, panels and planner', { skip }, async () => {
  const server = await serve(() => DIST);
  after(() => server.close());
  const page = await openPage({ url: server.url, serviceWorkers: true, fragment: 'v1&m=llama3-8b&n=8' });
  await ready(page);
  const before = await answer(page);
  // On the first visit nothing is cached before the page is at rest.
  assert.equal(await page.evaluate(() => caches.keys().then((names) => names.length)), 0);
  await isKept(page);
  const kept = await page.evaluate(async () => {
    const [name] = await caches.keys();
    return (await (await caches.open(name)).keys()).map((request) => request.url);
  });
  for (const file of [/\/$/, /headroom-page.*packed/, /headroom-worker.*wasm/, /headroom-part-later/, /pictures-/]) {
    assert.ok(kept.some((url) => file.test(url)), `${file} is not kept`);
  }
  server.close();
  await page.reload();
  await ready(page);
  assert.deepEqual(await answer(page), before);
  await type(page, 'n', '16');
  await choose(page, 'z', '2');
  await sameAsCommand(page);
  await fetched(page, 'methods');
  await fetched(page, 'evidence');
  await share(page);
  assert.match((await file(page, 'Answer as Markdown')).text, /^# Training Llama 3 8B on 16 ×/);
  const [picture] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'The bar as SVG', exact: true }).click()]);
  assert.equal(picture.suggestedFilename(), 'headroom-the-bar.svg');
  await page.keyboard.press('Escape');
  await page.locator('#f-m').fill('gpt2');
  assert.ok((await page.locator('#l-m').getByRole('option').count()) > 0);
  noConsoleErrors(page);
});

/** A copy of the build with another text in its index, as a new `cargo xtask build` would make
 * it. */
function nextBuild() {
  const folder = mkdtempSync(path.join(tmpdir(), 'headroom-next-'));
  cpSync(DIST, folder, { recursive: true });
  const html = readFileSync(path.join(folder, 'index.html'), 'utf8').replace(/(headroom-build" content=")[^"]*/, '$10123456789abcdef').replace('<html ', '<html data-next ');
  writeFileSync(path.join(folder, 'index.html'), html);
  const integrity = `sha256-${createHash('sha256').update(html).digest('base64')}`;
  const worker = readFileSync(path.join(folder, 'sw.js'), 'utf8').replace(/const BUILD = "[^"]*"/, 'const BUILD = "0123456789abcdef"').replace(/"\.\/":"[^"]*"/, `"./":"${integrity}"`);
  writeFileSync(path.join(folder, 'sw.js'), worker);
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('a newer build waits for a press of its button; pages stay on theirs; the old one is forgotten in the end', { skip }, async () => {
  let folder = DIST;
  const server = await serve(() => folder);
  after(() => server.close());
  const page = await openPage({ url: server.url, serviceWorkers: true, fragment: 'v1&m=llama3-8b&n=8' });
  await ready(page);
  await isKept(page);
  const caches = (tab) => tab.evaluate(() => globalThis.caches.keys());
  const [old] = await caches(page);
  const second = await openPage({ context: page.context(), url: server.url, fragment: 'v1&m=llama3-8b&n=16' });
  await ready(second);

  folder = nextBuild();
  await page.evaluate(() => navigator.serviceWorker.getRegistration().then((registration) => registration.update()));
  const notice = page.locator('#newer');
  await notice.getByText('A newer version is ready.').waitFor();
  // A reload gives the complete build that is open, not the new one.
  await second.reload();
  await ready(second);
  const isNext = (tab) => tab.evaluate(() => document.documentElement.hasAttribute('data-next'));
  assert.equal(await isNext(second), false);
  await second.locator('#newer').waitFor();
  await axe(second);
  await type(page, 'n', '32');
  await notice.getByRole('button', { name: 'Reload' }).click();
  await page.waitForFunction(() => document.documentElement.hasAttribute('data-next'));
  await ready(page);
  assert.match((await answer(page)).headline, /on 32 ×/);
  // The other page still runs the old build completely.
  assert.equal(await isNext(second), false);
  await fetched(second, 'methods');
  assert.ok((await caches(second)).includes(old));
  noConsoleErrors(second);
  await second.close();
  // When no page of the old build is open, the new build deletes the old one's cache.
  await page.reload();
  await until(async () => !(await caches(page)).includes(old), 'the old build is forgotten', 60_000);
  assert.equal((await caches(page)).length, 1);
  noConsoleErrors(page);
});

test('switched off on the server, browsers forget what they kept', { skip }, async () => {
  let folder = DIST;
  const server = await serve(() => folder);
  after(() => server.close());
  const page = await openPage({ url: server.url, serviceWorkers: true });
  await ready(page);
  await isKept(page);
  folder = mkdtempSync(path.join(tmpdir(), 'headroom-off-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(DIST, folder, { recursive: true });
  writeFileSync(path.join(folder, 'sw.js'), readFileSync(path.join(DIST, 'sw-off.js')));
  await page.evaluate(() => navigator.serviceWorker.getRegistration().then((registration) => registration.update()));
  const isForgotten = () => page.evaluate(async () => (await caches.keys()).length === 0 && !(await navigator.serviceWorker.getRegistration()));
  await until(isForgotten, 'everything is forgotten', 60_000);
  noConsoleErrors(page);
});

test('a browser that keeps nothing shows the page all the same', { skip }, async () => {
  const refuse = (tab) =>
    tab.addInitScript(() => {
      ServiceWorkerContainer.prototype.register = () => Promise.reject(new DOMException('no', 'SecurityError'));
    });
  const page = await open(undefined, { serviceWorkers: true, prepare: refuse });
  // The request may have come before the page was ready.
  await until(() => requestsOf(page).some((request) => request.url().includes('/offline-')), 'the page asks to be kept', 30_000);
  await page.waitForTimeout(200);
  assert.ok(requestsOf(page).length > 5);
  noConsoleErrors(page);
});
