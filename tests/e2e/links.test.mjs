// Links carry the scenario: frozen links open, address and page follow each other, and text in a
// link is never read as markup.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noConsoleErrors, noForeignRequests } from './harness.mjs';
import {
  LINK_RESTS_MS, address, answer, choose, command, fragmentOf, frozenLinks, input, link, moved, noBrokenNumbers, open, part, paste, pick, plain, sameAsCommand,
  textOf, type, unfold, until,
} from './steps.mjs';

/** Counts the page's writes into the browser's history. */
const countWrites = (page) =>
  page.addInitScript(() => {
    globalThis.written = [];
    for (const name of ['replaceState', 'pushState']) {
      const original = history[name];
      history[name] = function record(...values) {
        globalThis.written.push(String(values[2]));
        return original.apply(this, values);
      };
    }
  });
const writes = (page) => page.evaluate(() => globalThis.written);

/** Fails unless the page has no answer: its card names these fields, no figure is shown
 * anywhere, and the command line agrees. */
async function refused(page, keys) {
  const card = part(page, 'verdict');
  await part(page, 'refused').waitFor();
  assert.match(await card.getAttribute('class'), /tone--bad/);
  assert.equal(await part(page, 'refused').locator('li').count(), keys.length);
  for (const key of keys) {
    const said = plain(await page.locator(`#e-${key}`).evaluate((error) => error.firstChild.textContent)).trim();
    assert.ok((await textOf(card)).includes(said), said);
  }
  // The worker's panels are filled only when they are in sight.
  await page.locator('#timeline').scrollIntoViewIfNeeded();
  await page.locator('#timeline:not([aria-busy])').waitFor({ state: 'attached' });
  const shown = await page.locator('.strip, #answer, [data-own="ledger"], [data-own="cost"], [data-own="time"], #timeline').allTextContents();
  assert.doesNotMatch(shown.join(' '), /\d (GiB|GB|MiB|%)|Fits/);
  assert.equal(await page.locator('#answer svg path, #answer .tone--good, .strip .tone--good').count(), 0);
  const { code, error } = command(await link(page));
  assert.equal(code, 2);
  assert.match(error, /\w/);
}

test('every frozen link opens, with its values and its notices', async () => {
  const page = await open();
  for (const frozen of frozenLinks()) {
    const fragment = fragmentOf(frozen.link);
    const fresh = await open(fragment, { context: page.context() });
    const notices = (await part(fresh, 'notices').locator('.notice__text').allTextContents()).map(plain);
    assert.equal(notices.length, frozen.count, `${frozen.file}: ${notices}`);
    for (const notice of frozen.notices) assert.ok(notices.includes(plain(notice)), `${frozen.file}: ${notices}`);
    if (frozen.failed) assert.match((await answer(fresh)).headline, /Llama 3 8B on 8 × H100/);
    // The form shows the fixture's value for each field that it has as a number.
    await unfold(fresh);
    for (const [key, value] of Object.entries(frozen.values)) {
      const field = input(fresh, key);
      if (!/^\d+$/.test(value) || (await field.count()) === 0 || (await field.getAttribute('type')) !== 'text') continue;
      assert.equal((await field.inputValue()).replace(/\s/g, ''), value, `${frozen.file}: ${key}`);
    }
    const comparing = Object.keys(frozen.values).some((key) => key.startsWith('b.'));
    assert.equal(await part(fresh, 'compare').locator('table').count(), comparing ? 1 : 0, frozen.file);
    if (frozen.values.refused) await refused(fresh, frozen.values.refused.split(' '));
    else await sameAsCommand(fresh);
    await noBrokenNumbers(fresh);
    noConsoleErrors(fresh);
    await fresh.close();
  }
});

test('a second link pasted into the same tab opens, and back and forward return', async () => {
  const page = await open('v1&m=llama3-70b&n=64&z=2');
  const first = await answer(page);
  await paste(page, 'v1&m=llama2-7b&n=4');
  const second = await answer(page);
  assert.match(second.headline, /Llama 2 7B on 4 ×/);
  await moved(page, () => page.goBack());
  assert.deepEqual(await answer(page), first);
  await moved(page, () => page.goForward());
  assert.deepEqual(await answer(page), second);
  // Edits before the paste that were not shared come back with one undo.
  await type(page, 'n', '16');
  const edited = await answer(page);
  await paste(page, 'v1&m=llama2-13b');
  assert.match((await answer(page)).headline, /Llama 2 13B/);
  await page.keyboard.press('Control+z');
  assert.deepEqual(await answer(page), edited);
  await page.keyboard.press('Control+Shift+z');
  assert.match((await answer(page)).headline, /Llama 2 13B/);
  noConsoleErrors(page);
});

test('a link that cannot be read leaves what is shown alone, and says so', async () => {
  const page = await open('v1&m=llama3-70b&n=64');
  const before = await answer(page);
  await paste(page, 'v9&m=llama3-70b');
  assert.match(await textOf(part(page, 'notices')), /version “?v9”?/);
  assert.deepEqual(await answer(page), before);
  noConsoleErrors(page);
});

test('the address follows the page: once at rest, and never the same twice', async () => {
  const page = await open(undefined, { prepare: countWrites });
  await page.waitForTimeout(LINK_RESTS_MS);
  assert.deepEqual(await writes(page), [], 'opening the page writes nothing');
  // Fifty quick changes are one write.
  const field = input(page, 's');
  await field.evaluate((element) => {
    for (let tokens = 1000; tokens < 1050; tokens += 1) {
      element.value = String(tokens);
      element.dispatchEvent(new Event('input', { bubbles: true }));
    }
  });
  const rested = await address(page);
  assert.match(rested, /s=1049$/);
  assert.deepEqual(await writes(page), [`#${rested}`]);
  assert.equal(rested, await link(page));
  // A change and its reverse within the pause cause no write. Both are made in one call, because a
  // busy machine may pause longer between two keys.
  await field.evaluate((element) => {
    for (const tokens of ['2048', '1049']) {
      element.value = tokens;
      element.dispatchEvent(new Event('input', { bubbles: true }));
    }
  });
  await page.waitForTimeout(LINK_RESTS_MS);
  // Opening folds or reading a curve causes no write, because the scenario does not change.
  await unfold(page);
  await page.locator('#plot-seq').focus();
  await page.keyboard.press('ArrowRight');
  await page.waitForTimeout(LINK_RESTS_MS);
  assert.equal((await writes(page)).length, 1);
  // Safari allows a hundred writes in thirty seconds. A slider dragged for seconds stays far below:
  // there are never two writes within one pause.
  const from = Date.now();
  for (let step = 0; step < 40; step += 1) {
    await page.keyboard.press(step % 2 ? 'ArrowLeft' : 'ArrowRight');
    await page.keyboard.press('Enter');
  }
  await page.waitForTimeout(LINK_RESTS_MS);
  const most = 2 + Math.floor((Date.now() - from) / LINK_RESTS_MS);
  assert.ok((await writes(page)).length <= most, `${(await writes(page)).length} writes, at most ${most}`);
  noConsoleErrors(page);
});

test('a history that refuses to be written does not stop the page', async () => {
  const page = await open(undefined, {
    prepare: (tab) =>
      tab.addInitScript(() => {
        history.replaceState = () => {
          throw new DOMException('too many calls', 'SecurityError');
        };
      }),
  });
  await type(page, 'n', '16');
  await page.waitForTimeout(LINK_RESTS_MS);
  assert.match((await answer(page)).headline, /on 16 ×/);
  await part(page, 'share').click();
  assert.match(await part(page, 'share-link').inputValue(), /#v2&c=[^&]+&n=16$/);
  noConsoleErrors(page);
});

test('the shared link is the page, short, and made of letters that chat programs keep', async () => {
  const page = await open();
  await pick(page, 'm', 'llama 3 70b', 'Llama 3 70B');
  await type(page, 'n', '64');
  await choose(page, 'z', '2');
  await part(page, 'share').click();
  const shared = await part(page, 'share-link').inputValue();
  assert.equal(shared, `${page.url().split('#')[0]}#${await link(page)}`);
  const fragment = fragmentOf(shared);
  assert.ok(fragment.length <= 120, `${fragment.length} characters: ${fragment}`);
  assert.match(fragment, /^[A-Za-z0-9.=&-]*[A-Za-z0-9]$/);
  assert.equal(await page.getByRole('img', { name: 'QR code' }).count(), 1);
  const other = await open(fragment);
  await page.keyboard.press('Escape');
  assert.deepEqual(await answer(other), await answer(page));
  assert.equal(command(shared, '--json').json.link, fragment);
  noConsoleErrors(page);
});

test('copying gives the link; without a clipboard it is selected for copying by hand', async () => {
  const page = await open('v1&n=16');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await part(page, 'share').click();
  await part(page, 'copy-link').click();
  await page.getByText('Copied.').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await part(page, 'share-link').inputValue());

  const without = await open('v1&n=16', {
    prepare: (tab) => tab.addInitScript(() => Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined })),
  });
  await part(without, 'share').click();
  await part(without, 'copy-link').click();
  await without.getByText('The text is selected').waitFor();
  const selected = await part(without, 'share-link').evaluate((area) => area.selectionEnd - area.selectionStart === area.value.length);
  assert.ok(selected);
  noConsoleErrors(without);
});

test('a link edited by hand opens what it says; one that is cut off says so', async () => {
  const page = await open('v1&m=llama3-70b&n=16&z=3');
  await part(page, 'share').click();
  const copied = fragmentOf(await part(page, 'share-link').inputValue());
  assert.match(copied, /^v2&c=.*&n=16/);
  const edited = await open(copied.replace('&n=16', '&n=32'));
  assert.match((await answer(edited)).headline, /Llama 3 70B on 32 ×/);
  assert.match(await textOf(part(edited, 'notices')), /changed by hand or cut off: its check sum does not match/);
  // A link cut in the model's name is not answered with another model.
  const half = await open(copied.slice(0, copied.indexOf('0b&')));
  await refused(half, ['m']);
  assert.match(await textOf(part(half, 'verdict')), /Not in the list\. Training llama3-7 on .*Use Llama 3 70B/);
  await part(half, 'refused').getByRole('button', { name: 'Use Llama 3 70B' }).click();
  await part(half, 'refused').waitFor({ state: 'detached' });
  assert.match((await answer(half)).headline, /Llama 3 70B on 8 ×/);
  await sameAsCommand(half);
  // A link of which nothing can be read shows the default scenario.
  const none = await open('v1&c=rf6&m');
  assert.match(await textOf(part(none, 'notices')), /Nothing of this link can be read.*The default scenario is shown instead/);
  for (const tab of [page, edited, half, none]) noConsoleErrors(tab);
});

test('a link to an impossible combination has its own card, and no other scenario answers in its place', async () => {
  const page = await open('v1&m=llama3-70b&tp=3');
  await refused(page, ['n']);
  assert.match(await textOf(part(page, 'verdict')), /Not possible like this\. Training Llama 3 70B on 8 ×/);
  // The card has a button that goes to the field and one that corrects it.
  await part(page, 'refused').getByRole('button', { name: 'Go to the field GPUs' }).click();
  assert.ok(await until(() => page.evaluate(() => document.activeElement.id === 'f-n')), 'the field has the focus');
  const way = part(page, 'refused').getByRole('button', { name: /^Use \d/ });
  const gpus = (await way.textContent()).match(/\d+/)[0];
  await way.click();
  await part(page, 'refused').waitFor({ state: 'detached' });
  assert.match((await answer(page)).headline, new RegExp(`Llama 3 70B on ${gpus} ×`));
  await sameAsCommand(page);
  // The curves then drawn have the size of their place.
  const [place, picture] = await Promise.all(['#plot-seq', '#plot-seq svg'].map((part_) => page.locator(part_).boundingBox()));
  assert.ok(Math.abs(place.width - picture.width) < 2, `${place.width} ${picture.width}`);
  // A link pasted later is another scenario, so the answer shown before is not kept as an earlier
  // answer.
  await paste(page, 'v1&m=llama2-13b&tp=3');
  await refused(page, ['n']);
  // Typing keeps the scenario: its last valid answer stays in the background and points to the
  // invalid field.
  await paste(page, 'v1&m=llama3-70b&n=32');
  const good = await answer(page);
  await type(page, 'tp', '3');
  await part(page, 'stale').waitFor();
  assert.deepEqual(await answer(page), good);
  assert.match(await part(page, 'verdict').getAttribute('class'), /tone--earlier/);
  assert.equal(await page.locator('#answer .tone--good, .strip .tone--good').count(), 0);
  await part(page, 'stale').getByRole('button').click();
  assert.ok(await until(() => page.evaluate(() => document.activeElement.id === 'f-n')), 'the field has the focus');
  noConsoleErrors(page);
});

const MARKUP = [
  'v1&name=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E',
  'v1&name=<img src=x onerror="globalThis.broken=1">',
  'v1&name=%22%3E%3Cscript%3EglobalThis.broken=1%3C/script%3E',
  'v1&m=<svg/onload=globalThis.broken=1>',
  'v1&gpu=%3Cb%3Ek80%3C%2Fb%3E&mem=12',
  'v1&<i>x</i>=<i>y</i>',
  '<h1>hello</h1>',
  'v1&m=%E0%A4%A',
  'v1&m=llama3-8b&m=llama3-70b&n=1&n=2',
  'v1&s=NaN&n=Infinity&mem=-0&fr=1e309',
  'v1&name=%E2%80%AEevil%00%07%E2%81%A6',
  'v1&b.m=<script>globalThis.broken=1</script>',
  'v2',
  '%',
  '&&&&=&=',
  `v1&name=${'a'.repeat(10_000)}`,
  'x'.repeat(10_000),
  `v1${'&n=8'.repeat(3000)}`,
  '\u202ev1&\ufeffm=llama3-8b',
  'v1&c=zzz&m=llama3-70b',
];

test('no text in a link becomes an element, a request or an error', async () => {
  const allowed = 'script, img, iframe, object, embed, link, style, base, form, a[href^="javascript"]';
  // A page opened by a link has its later style sheet from the start.
  const page = await open('v1&n=4');
  const elements = () => page.evaluate((selector) => [...document.querySelectorAll(selector)].map((element) => element.outerHTML.slice(0, 80)), allowed);
  const known = await elements();
  const frozen = frozenLinks().map((entry) => fragmentOf(entry.link));
  // One link, cut and garbled in many places, in addition to the list above.
  const cuts = Array.from({ length: 15 }, (_, at) => frozen[2].slice(0, 16 * at));
  const garbled = Array.from({ length: 15 }, (_, at) => `${frozen[2].slice(0, 15 * at)}\u00e9${frozen[2].slice(15 * at + 1)}`);
  for (const fragment of [...MARKUP, ...cuts, ...garbled]) {
    await page.evaluate((text) => {
      location.hash = text;
    }, fragment);
    await page.evaluate(() => new Promise((done) => setTimeout(done)));
    assert.deepEqual(await elements(), known, fragment.slice(0, 80));
  }
  await noBrokenNumbers(page);
  assert.equal(await page.evaluate(() => globalThis.broken), undefined);
  // The page still works, and has not piled up messages without end.
  await paste(page, 'v1&n=16');
  assert.match((await answer(page)).headline, /on 16 ×/);
  await noForeignRequests(page);
  noConsoleErrors(page);

  for (const fragment of MARKUP) {
    const fresh = await open(fragment, { context: page.context() });
    assert.equal(await fresh.evaluate(() => globalThis.broken), undefined);
    assert.equal(await fresh.locator('body img, body iframe, body i, body h1:has-text("hello")').count(), 0, fragment.slice(0, 80));
    await noBrokenNumbers(fresh);
    noConsoleErrors(fresh);
    await fresh.close();
  }
});
