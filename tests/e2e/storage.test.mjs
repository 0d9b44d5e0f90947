// Saved scenarios: saving, renaming, copying, deleting and restoring; two tabs; and a storage that
// is refused, full or damaged.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noConsoleErrors } from './harness.mjs';
import { address, answer, downloaded, open, part, paste, plain, ready, textOf, type, until } from './steps.mjs';

const PREFIX = 'headroom:v1:s:';
const CORRUPT = 'headroom:corrupt:';

/** The rows of the list of saved scenarios. */
const rows = (page) => part(page, 'saved').locator('.saved__row');
const names = async (page) => (await rows(page).locator('.saved__name button').allTextContents()).map(plain);
const row = (page, name) => rows(page).filter({ has: page.getByRole('button', { name, exact: true }) });
const tool = (page, name, what) => row(page, name).getByRole('button', { name: what, exact: true });

/** Saves the present scenario under a name. */
async function save(page, name) {
  await part(page, 'save').click();
  await page.locator('#save-name').fill(name);
  await part(page, 'save-confirm').click();
  await row(page, name).waitFor();
}

/** The entries of local storage whose keys begin with `prefix`. */
const stored = (page, prefix) =>
  page.evaluate((start) => Object.entries(localStorage).filter(([key]) => key.startsWith(start)), prefix);

test('saving, opening, renaming, copying, deleting, and taking the deletion back', async () => {
  const page = await open('v1&m=llama3-70b&n=64');
  const big = await answer(page);
  await save(page, 'The big one');
  await paste(page, 'v1&m=llama2-7b&n=4');
  await save(page, 'The small one');
  assert.deepEqual((await names(page)).sort(), ['The big one', 'The small one']);
  assert.equal((await stored(page, PREFIX)).length, 2, 'one key for each');

  await row(page, 'The big one').getByRole('button', { name: 'The big one', exact: true }).click();
  assert.deepEqual(await answer(page), big);

  await tool(page, 'The small one', 'Rename').click();
  const renamed = rows(page).getByRole('textbox');
  await renamed.fill('Small <b>and</b> cheap');
  await renamed.press('Enter');
  await row(page, 'Small <b>and</b> cheap').waitFor();
  assert.equal(await part(page, 'saved').locator('li b').count(), 0);

  await tool(page, 'The big one', 'Duplicate').click();
  await row(page, 'The big one (copy)').waitFor();
  assert.equal((await stored(page, PREFIX)).length, 3);

  await tool(page, 'The big one', 'Delete').click();
  await row(page, 'The big one').waitFor({ state: 'detached' });
  assert.equal((await stored(page, PREFIX)).length, 2);
  await part(page, 'toast-undo').click();
  await row(page, 'The big one').waitFor();
  await row(page, 'The big one').getByRole('button', { name: 'The big one', exact: true }).click();
  assert.deepEqual(await answer(page), big);

  await page.reload();
  await ready(page);
  assert.deepEqual((await names(page)).sort(), ['Small <b>and</b> cheap', 'The big one', 'The big one (copy)']);
  noConsoleErrors(page);
});

test('a rename that is given up changes nothing', async () => {
  const page = await open();
  await save(page, 'As it was');
  await tool(page, 'As it was', 'Rename').click();
  const field = rows(page).getByRole('textbox');
  await field.waitFor();
  assert.ok(await field.evaluate((element) => document.activeElement === element), 'the name is ready to be typed');
  await field.pressSequentially('never mind');
  await field.press('Escape');
  await row(page, 'As it was').waitFor({ timeout: 20_000 });
  assert.deepEqual(await names(page), ['As it was']);
});

test('two tabs see each other and overwrite nothing', async () => {
  const one = await open('v1&n=16');
  const two = await open('v1&n=32', { context: one.context() });
  await save(one, 'From one');
  await row(two, 'From one').waitFor();
  await save(two, 'From two');
  await row(one, 'From two').waitFor();
  // Both tabs rename one scenario: the later name stays, and both tabs show it.
  await tool(one, 'From one', 'Rename').click();
  await tool(two, 'From one', 'Rename').click();
  await rows(one).getByRole('textbox').fill('Named by one');
  await rows(one).getByRole('textbox').press('Enter');
  await row(two, 'Named by one').waitFor({ timeout: 20_000 });
  const inOne = (await names(one)).sort();
  assert.deepEqual(inOne, ['From two', 'Named by one']);
  assert.deepEqual((await names(two)).sort(), inOne);
  // One tab deletes and the other saves; neither undoes the other's action.
  await tool(one, 'From two', 'Delete').click();
  await save(two, 'Five');
  await row(one, 'Five').waitFor();
  assert.deepEqual((await names(one)).sort(), ['Five', 'Named by one']);
  assert.deepEqual((await names(two)).sort(), ['Five', 'Named by one']);
  noConsoleErrors(one);
  noConsoleErrors(two);
});

test('storage that gives nothing back: the page works, says so, and takes nothing away', async () => {
  const record = JSON.stringify({ v: 1, id: 'good-1', name: 'Good', saved_at: 1_790_000_000_000, revision: 1, link: 'v1&n=16' });
  const refuse = (page) =>
    page.addInitScript(
      ([key, text]) => {
        if (localStorage.length === 0) localStorage.setItem(key, text);
        const { getItem } = Storage.prototype;
        globalThis.storedText = (name) => getItem.call(localStorage, name);
        Storage.prototype.getItem = () => {
          throw new DOMException('not here', 'SecurityError');
        };
      },
      [`${PREFIX}good-1`, record],
    );
  const page = await open('v1&n=16', { prepare: refuse });
  assert.match((await answer(page)).headline, /on 16 ×/);
  await type(page, 'n', '8');
  assert.match((await answer(page)).headline, /on 8 ×/);
  assert.match(await textOf(part(page, 'notices')), /does not let the page store anything/);
  // The record that could not be read is still stored for the next visit.
  assert.equal(await page.evaluate((key) => globalThis.storedText(key), `${PREFIX}good-1`), record);
  noConsoleErrors(page);
});

test('storage that the browser forbids altogether: a notice, and the page works', async () => {
  const forbid = (page) =>
    page.addInitScript(() =>
      Object.defineProperty(globalThis, 'localStorage', {
        get() {
          throw new DOMException('not here', 'SecurityError');
        },
      }),
    );
  const page = await open('v1&n=16', { prepare: forbid });
  assert.match(await textOf(part(page, 'notices')), /does not let the page store anything/);
  await part(page, 'save').click();
  await part(page, 'save-confirm').click();
  assert.match((await answer(page)).headline, /on 16 ×/);
  await page.getByRole('button', { name: 'Switch between light and dark' }).first().click();
  noConsoleErrors(page);
});

test('storage that is full: the message says so, and nothing saved before is lost', async () => {
  const page = await open();
  await save(page, 'Before it was full');
  await page.evaluate(() => {
    Storage.prototype.setItem = () => {
      throw new DOMException('full', 'QuotaExceededError');
    };
  });
  await part(page, 'save').click();
  await page.locator('#save-name').fill('One too many');
  await part(page, 'save-confirm').click();
  await page.getByText(/storage is full, so this was not saved/).waitFor();
  assert.deepEqual(await names(page), ['Before it was full']);
  noConsoleErrors(page);
});

test('storage that is really full: 5 MiB of another page', async () => {
  const page = await open();
  await page.evaluate(() => {
    for (let size = 1 << 20; size > 0; size >>= 1) {
      try {
        for (let number = 0; ; number += 1) localStorage.setItem(`other:${size}:${number}`, 'a'.repeat(size));
      } catch {
        // There is no room at this size, so a smaller one is tried.
      }
    }
  });
  await part(page, 'save').click();
  await part(page, 'save-confirm').click();
  await page.getByText(/storage is full, so this was not saved/).waitFor();
  await page.reload();
  await ready(page);
  assert.deepEqual(await names(page), []);
  noConsoleErrors(page);
});

test('what cannot be read is set aside, not deleted; the rest is there', async () => {
  const good = { v: 1, id: 'good-1', name: 'Good', saved_at: 1_790_000_000_000, revision: 1, link: 'v1&n=16' };
  const newer = JSON.stringify({ v: 99, something: 'else' });
  const big = 'a'.repeat(4 << 20);
  const bad = { cut: '{', list: '[]', nothing: 'null', foreign: '{"hello":"world"}', half: '{"v":1,"id":"half"}', empty: '' };
  const seed = (page) =>
    page.addInitScript(
      ([prefix, record, later, rubbish, size]) => {
        if (localStorage.getItem('seeded')) return;
        localStorage.setItem('seeded', 'yes');
        localStorage.setItem('somebody:else', '{');
        localStorage.setItem(`${prefix}good-1`, record);
        localStorage.setItem(`${prefix}newer`, later);
        for (const [name, text] of Object.entries(rubbish)) localStorage.setItem(`${prefix}${name}`, text);
        if (size) localStorage.setItem(`${prefix}big`, 'a'.repeat(size));
      },
      [PREFIX, JSON.stringify(good), newer, bad, big.length],
    );
  const page = await open(undefined, { prepare: seed });
  assert.deepEqual(await names(page), ['Good']);
  assert.match(await textOf(part(page, 'notices')), /8 saved scenarios could not be read\. They were set aside/);
  const aside = Object.fromEntries(await stored(page, CORRUPT));
  for (const [name, text] of [...Object.entries(bad), ['big', big]]) {
    const key = Object.keys(aside).find((candidate) => candidate.startsWith(`${CORRUPT}${PREFIX}${name}:`));
    // Where there is no room for a second copy, the first one stays where it is.
    const kept = key === undefined ? await page.evaluate((first) => localStorage.getItem(first), `${PREFIX}${name}`) : aside[key];
    assert.ok(kept === text, `${name} is lost`);
  }
  // A record of a newer version stays where that version finds it; other pages' values stay
  // untouched.
  assert.equal(await page.evaluate((key) => localStorage.getItem(key), `${PREFIX}newer`), newer);
  assert.equal(await page.evaluate(() => localStorage.getItem('somebody:else')), '{');
  await row(page, 'Good').getByRole('button', { name: 'Good', exact: true }).click();
  assert.match((await answer(page)).headline, /on 16 ×/);
  await page.reload();
  await ready(page);
  assert.deepEqual(await names(page), ['Good']);
  noConsoleErrors(page);
});

test('all scenarios leave as one file and come back from it', async () => {
  const page = await open('v1&m=llama3-70b&n=64&z=2&b.z=3');
  await save(page, 'Two at once');
  await paste(page, 'v1&m=llama2-7b&n=4');
  await save(page, 'Grüße, 模型 🙂');
  const { name, text } = await downloaded(page, () => page.getByRole('button', { name: 'Download all' }).click());
  assert.equal(name, 'headroom-scenarios.json');
  assert.equal(JSON.parse(text).scenarios.length, 2);

  const other = await open();
  const choose = (content, file = 'scenarios.json') =>
    part(other, 'saved').locator('input[type=file]').setInputFiles({ name: file, mimeType: 'application/json', buffer: Buffer.from(content) });
  await choose(text);
  await row(other, 'Two at once').waitFor();
  assert.deepEqual((await names(other)).sort(), ['Grüße, 模型 🙂', 'Two at once']);
  await row(other, 'Two at once').getByRole('button', { name: 'Two at once', exact: true }).click();
  assert.match((await answer(other)).headline, /Llama 3 70B on 64 ×/);
  assert.equal(await part(other, 'compare').locator('table').count(), 1);
  // Importing the file again adds nothing.
  await choose(text);
  await other.getByText('0 scenarios added').waitFor();
  assert.equal((await names(other)).length, 2);
  // A foreign file is refused by a message; of a file with one bad record, the other records are
  // imported.
  for (const content of ['{', '[]', '{"headroom":"scenarios"}', '<html>', '']) {
    const told = await part(other, 'notices').locator('.notice').count();
    await choose(content);
    const notices = () => part(other, 'notices').locator('.notice').count();
    assert.ok(await until(async () => (await notices()) >= Math.max(told, 1)), content);
  }
  const mixed = JSON.parse(text);
  mixed.scenarios[0].link = '<b>no link</b>';
  mixed.scenarios[1].id = 'another-one';
  await choose(JSON.stringify(mixed));
  await other.getByText('1 scenarios added').or(other.getByText('1 scenario added')).waitFor();
  assert.equal((await names(other)).length, 3);
  noConsoleErrors(other);
});

test('a reload keeps the scenario, the theme and the list', async () => {
  const page = await open();
  await type(page, 'n', '64');
  await save(page, 'Sixty-four');
  await page.getByRole('button', { name: 'Switch between light and dark' }).first().click();
  const theme = await page.evaluate(() => document.documentElement.dataset.theme);
  await address(page);
  const before = await answer(page);
  await page.reload();
  await ready(page);
  assert.deepEqual(await answer(page), before);
  assert.deepEqual(await names(page), ['Sixty-four']);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), theme);
  noConsoleErrors(page);
});
