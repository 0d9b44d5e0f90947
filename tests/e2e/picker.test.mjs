// The lists of models and GPUs: they open at the chosen row, find typed names, and offer a next
// step where they find nothing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axe, noConsoleErrors } from './harness.mjs';
import { answer, input, open, painted, part, plain, until } from './steps.mjs';

const LINK = 'v1&m=mistral-7b&gpu=rtx4090&n=1&l=16';

/** The marked entry of a list: its text, and whether it is in sight inside the list. */
async function marked(page, key) {
  const id = await input(page, key).getAttribute('aria-activedescendant');
  if (!id) return { text: '', seen: false };
  return page.locator(`#${id}`).evaluate((entry) => {
    const [inside, list] = [entry.getBoundingClientRect(), entry.closest('[role=listbox]').getBoundingClientRect()];
    return { text: entry.textContent, seen: inside.top >= list.top - 1 && inside.bottom <= list.bottom + 1 };
  });
}

/** Clicks a field and waits until its list is shown, scrolled to the marked entry. */
async function opened(page, key) {
  await input(page, key).click();
  await page.locator(`#l-${key}`).waitFor();
  assert.ok(await until(async () => (await marked(page, key)).seen), `the marked entry of ${key} is in sight`);
}

test('a click and Enter change nothing', async () => {
  const page = await open(LINK);
  const before = (await answer(page)).headline;
  for (const [key, name] of [['m', /^Mistral 7B/], ['gpu', /^RTX 4090/]]) {
    await opened(page, key);
    assert.match((await marked(page, key)).text, name);
    await page.keyboard.press('Enter');
    await page.locator(`#l-${key}`).waitFor({ state: 'hidden' });
  }
  assert.equal((await answer(page)).headline, before, 'what was changed by hand is kept too');
  noConsoleErrors(page);
});

test('keys lead through a list, and Escape leaves it as it was', async () => {
  const page = await open(LINK);
  await opened(page, 'gpu');
  const seen = [];
  for (const key of ['End', 'Home', 'PageDown', 'ArrowDown', 'ArrowUp', 'PageUp']) {
    await page.keyboard.press(key);
    await painted(page);
    const now = await marked(page, 'gpu');
    assert.ok(now.seen, `${key}: ${now.text} is in sight`);
    seen.push(now.text);
  }
  assert.equal(seen[5], seen[1], 'a page down, one down, one up, a page up');
  assert.equal(new Set(seen).size, 4);
  await page.keyboard.press('Escape');
  assert.equal(await input(page, 'gpu').inputValue(), 'RTX 4090');
});

test('a search finds a card by its number and memory', async () => {
  const page = await open(LINK);
  await input(page, 'gpu').click();
  await page.keyboard.type('3060 12gb');
  assert.ok(await until(async () => (await marked(page, 'gpu')).text.startsWith('RTX 3060 12GB')));
  await page.keyboard.press('Enter');
  assert.ok(await until(async () => /RTX 3060 12GB/.test((await answer(page)).headline)));
  noConsoleErrors(page);
});

test('where nothing is found, Enter takes nothing and ways lead on', async () => {
  const page = await open(LINK);
  await input(page, 'gpu').click();
  await page.keyboard.type('voodoo 2');
  const list = page.locator('#l-gpu');
  assert.ok(await until(async () => plain(await list.textContent()).startsWith('No match. The nearest:')));
  await page.keyboard.press('Enter');
  assert.match((await answer(page)).headline, /RTX 4090/);
  await list.getByRole('option', { name: 'Enter its memory' }).click();
  assert.ok(await until(() => input(page, 'mem').evaluate((field) => field === document.activeElement)), 'the memory has the focus');
  await input(page, 'm').click();
  await page.keyboard.type('no such model');
  await page.locator('#l-m').getByRole('option', { name: 'Paste its config.json' }).click();
  await part(page, 'paste-text').waitFor();
  noConsoleErrors(page);
});

for (const [width, height] of [[1280, 800], [1280, 720], [390, 844], [320, 640]]) {
  test(`a list is as wide as its panel and inside the window at ${width} × ${height}`, async () => {
    const page = await open(LINK, { viewport: { width, height }, touch: width < 500 });
    for (const key of ['m', 'gpu']) {
      await opened(page, key);
      const places = await page.locator(`#l-${key}`).evaluate((list) => {
        const [own, fields] = [list, list.closest('.group__fields')].map((element) => element.getBoundingClientRect());
        return { own, fields, page: document.documentElement.scrollWidth, height: innerHeight };
      });
      assert.ok(Math.abs(places.own.width - places.fields.width) < 1, `${key}: ${places.own.width} of ${places.fields.width}`);
      assert.ok(places.own.bottom <= places.height + 1, `${key} ends at ${places.own.bottom} of ${places.height}`);
      assert.ok(places.page <= width, `${key}: the page is ${places.page} wide`);
      if (width === 1280 && height === 800) await axe(page);
      await page.keyboard.press('Escape');
    }
  });
}
