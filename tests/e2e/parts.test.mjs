// The page's program comes in two parts: the first answers what a first visit asks, the rest follows when the page is used.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noConsoleErrors, openPage, requestsOf } from './harness.mjs';
import { PLAIN_LINKS } from './plain-links.mjs';
import { answer, command, input, open, painted, part, plain, ready, until } from './steps.mjs';

const LATER = '**/headroom-later-*.wasm';

/** How often the page has asked for the rest of the program. */
const asked = (page) => requestsOf(page).filter((request) => request.url().includes('/headroom-later-')).length;

/** How often the program itself asked for it and could not wait: script fetches ahead, XMLHttpRequest blocks. */
const missed = (page) => requestsOf(page).filter((request) => request.url().includes('/headroom-later-') && request.resourceType() === 'xhr').length;

/** Changes an input without going there: focus and scroll stay. */
const change = (page, key, text) =>
  input(page, key).evaluate((element, value) => {
    element.value = value;
    element.dispatchEvent(new Event('input', { bubbles: true }));
  }, text);

test('a first visit needs the first part alone, whatever plain input it changes', async () => {
  // With the rest out of reach, whatever needs it would stop the page.
  const page = await open(undefined, { prepare: (page) => page.route(LATER, (route) => route.abort()) });
  const before = (await answer(page)).headline;
  for (const [key, values] of [['s', ['4096', '16k']], ['n', ['16']], ['b', ['2']]]) {
    for (const value of values) {
      await change(page, key, value);
    }
  }
  await page.waitForTimeout(1000);
  assert.equal(missed(page), 0, 'nothing that a first visit does needs the rest');
  assert.notEqual((await answer(page)).headline, before);
  assert.equal(await page.locator('#stopped').isVisible(), false);
});

for (const link of PLAIN_LINKS) {
  test(`a plain link needs the first part alone: ${link}`, async () => {
    const page = await open(link, { prepare: (page) => page.route(LATER, (route) => route.abort()) });
    assert.equal((await answer(page)).headline, plain(command(link).out.split('\n').find((line) => !line.startsWith('note: '))));
    await page.waitForTimeout(1000);
    assert.equal(missed(page), 0, 'nothing that such a link shows needs the rest');
    assert.equal(await page.locator('#stopped').isVisible(), false);
  });
}

test('a link’s page never shows the answer that stands in the HTML', async () => {
  const page = await openPage({
    fragment: 'v1&m=llama3-70b&n=64&z=2',
    prepare: (page) =>
      page.addInitScript(() => {
        globalThis.read = new Set();
        const look = () => {
          const clear = (element) => getComputedStyle(element).color === 'rgba(0, 0, 0, 0)';
          const visible = (element) => element.checkVisibility({ visibilityProperty: true }) && !clear(element);
          for (const element of document.querySelectorAll('h1, .bar__about, .strip, .stack, .curve, .field__input')) {
            if (visible(element)) globalThis.read.add(element.value ?? element.textContent);
          }
          requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      }),
  });
  await ready(page);
  await page.waitForTimeout(300);
  const read = await page.evaluate(() => [...globalThis.read].join(' | '));
  assert.match(read, /Llama 3 70B/);
  assert.doesNotMatch(read, /Llama 3 8B/);
  assert.equal(await page.locator('.answer').isVisible(), true);
});

test('the rest comes at the first sign of use, once', async () => {
  const page = await open();
  assert.equal(asked(page), 0);
  await Promise.all([page.waitForResponse(LATER), page.mouse.move(400, 400)]);
  await page.mouse.move(500, 500);
  await page.keyboard.press('Tab');
  await part(page, 'mode-serve').click();
  await page.waitForTimeout(300);
  assert.equal(asked(page), 1);
  noConsoleErrors(page);
});

test('nobody touches the page: the rest comes by itself', async () => {
  const arrived = (page) => page.waitForResponse(LATER, { timeout: 20_000 });
  let rest;
  const page = await openPage({ prepare: (page) => (rest = arrived(page), undefined) });
  await ready(page);
  await rest;
});

test('a link has both parts before it is opened', async () => {
  const page = await open('v1&ker=megatron&n=16');
  assert.equal(asked(page), 1);
  assert.match((await answer(page)).headline, /on 16 ×/);
  noConsoleErrors(page);
});

test('what needs the rest before it has come waits for it', async () => {
  // Nothing that is fetched ahead arrives; the request that the program waits for does.
  const page = await open(undefined, {
    prepare: (page) => page.route(LATER, (route) => (route.request().resourceType() === 'xhr' ? route.continue() : route.abort())),
  });
  await part(page, 'mode-serve').click();
  await until(() => missed(page) > 0);
  assert.equal(missed(page), 1);
  assert.match(plain(await page.locator('.bar__about').textContent()), /^Serving/);
  assert.equal(await page.locator('#stopped').isVisible(), false);
});

test('the rest cannot be had: the page says that it has stopped, with the link', async () => {
  const page = await openPage({ fragment: 'v1&n=16&do=serve', prepare: (page) => page.route(LATER, (route) => route.abort()) });
  await page.locator('#stopped').waitFor({ state: 'visible', timeout: 20_000 });
  assert.match(plain(await page.locator('#stopped-link').textContent()), /#v1&n=16&do=serve$/);
});

/** Changes the length and returns, for every time that the places below began to wait or went on, which it was and the ledger's total then. */
async function waits(page, length) {
  await page.evaluate(() => {
    const below = document.querySelector('.below');
    globalThis.waited = [];
    const look = () => globalThis.waited.push([below.hasAttribute('data-waits'), below.querySelector('[data-testid="total"]').textContent]);
    globalThis.looking?.disconnect();
    globalThis.looking = new MutationObserver(look);
    globalThis.looking.observe(below, { attributeFilter: ['data-waits'] });
  });
  await change(page, 's', length);
  await painted(page);
  return page.evaluate(() => globalThis.waited);
}

test('what begins below the window is laid out after the picture, and its words stand before it', async () => {
  const page = await open(undefined, { viewport: { width: 1280, height: 720 } });
  const height = () => page.evaluate(() => document.documentElement.scrollHeight);
  const total = () => part(page, 'total').textContent();
  const [before, was] = [await height(), await total()];
  const seen = await waits(page, '4096');
  assert.deepEqual(seen.map(([waiting]) => waiting), [true, false]);
  assert.notEqual(await total(), was);
  assert.deepEqual(seen.map(([, text]) => text), [await total(), await total()], 'the ledger is written with all others');
  assert.ok(Math.abs((await height()) - before) < 40, 'the page keeps its height');
});

test('what is in sight or has the focus never waits', async () => {
  const page = await open(undefined, { viewport: { width: 1280, height: 720 } });
  await part(page, 'ledger').getByRole('button').first().evaluate((button) => button.focus({ preventScroll: true }));
  assert.deepEqual(await waits(page, '4096'), [], 'the focus is in the ledger');
  await page.evaluate(() => document.activeElement.blur());
  assert.equal((await waits(page, '2048')).length, 2);
  await part(page, 'ledger').evaluate((element) => element.scrollIntoView({ behavior: 'instant', block: 'center' }));
  await painted(page);
  assert.deepEqual(await waits(page, '16k'), [], 'the ledger is in sight');
  await page.evaluate(() => scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' }));
  await painted(page);
  assert.deepEqual(await waits(page, '8192'), [], 'the end of the page is in sight');
});
