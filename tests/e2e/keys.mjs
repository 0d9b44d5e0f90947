// Steps with the keyboard alone: the steps of steps.mjs without a pointer. `onlyKeys` fails a test
// that used anything else.

import assert from 'node:assert/strict';
import { errorOf, input, open, part, plain, until } from './steps.mjs';

/** Gives the page a short description of an element, for messages. */
export const describing = (page) =>
  page.addInitScript(() => {
    globalThis.describe = (element) => {
      const name = element.id || element.getAttribute('aria-label') || element.textContent.trim().replace(/\s+/g, ' ').slice(0, 40);
      return `${element.tagName.toLowerCase()} ${name}`;
    };
  });

/** The focused element, and whether a reader can see it: it has a ring, is in sight, and is not
 * under a sticky bar. */
export const focused = (page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    const box = element.getBoundingClientRect();
    const bars = [...document.querySelectorAll('.bar, .strip')].filter((bar) => getComputedStyle(bar).position === 'sticky' && bar.checkVisibility());
    const middle = [box.left + box.width / 2, (Math.max(0, box.top) + Math.min(innerHeight, box.bottom)) / 2];
    const top = document.elementFromPoint(...middle);
    const under = (bar) => !bar.contains(element) && bar.contains(top) && !element.contains(top);
    const around = [element, element.closest('.field__box, label') ?? element, element.parentElement].map((node) => getComputedStyle(node));
    return {
      name: globalThis.describe(element),
      visible: around.some((style) => (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2) || style.boxShadow !== 'none'),
      covered: bars.some(under),
      outside: box.bottom <= 0 || box.top >= innerHeight,
      body: element === document.body,
    };
  });

/** Opens the page for a reader without a pointer; `check` of the result fails when one was used. */
export async function openByKeys(fragment, options = {}) {
  const page = await open(fragment, {
    ...options,
    prepare: async (tab) => {
      await describing(tab);
      await options.prepare?.(tab);
      await tab.addInitScript(() => {
        globalThis.pointed = [];
        for (const kind of ['pointerdown', 'mousedown', 'touchstart']) {
          addEventListener(kind, (event) => globalThis.pointed.push(`${kind} on ${globalThis.describe(event.target)}`), true);
        }
      });
    },
  });
  await page.locator('.skip').first().focus();
  return page;
}

/** Fails when anything but keys was used. */
export const onlyKeys = async (page) => assert.deepEqual(await page.evaluate(() => globalThis.pointed), []);

/** Goes to an element with Tab or Shift+Tab, whichever leads there, and fails where a stop on
 * the way is not in sight. */
export async function go(page, locator) {
  const target = locator.first();
  await target.waitFor();
  for (let step = 0; step < 400; step += 1) {
    const way = await target.evaluate((element) => {
      const now = document.activeElement;
      if (now === element) return 'here';
      return now.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_PRECEDING ? 'Shift+Tab' : 'Tab';
    });
    if (way === 'here') return target;
    await page.keyboard.press(way);
    const now = await focused(page);
    if (now.body) continue;
    assert.ok(now.visible && !now.covered && !now.outside, `the focus is hard to see: ${JSON.stringify(now)}`);
  }
  throw new Error(`no way by keyboard to ${target}`);
}

/** Goes to a button, link or summary and presses Enter. */
export async function enter(page, locator) {
  await go(page, locator);
  await page.keyboard.press('Enter');
}

/** Makes sure that a field's input is in sight, and goes there. */
export async function reach(page, key) {
  const field = input(page, key);
  // A fold is empty until it is opened, so folds are opened one by one until the field is there.
  const closed = page.locator('.controls details.fold:not([open]) > summary');
  while (!(await field.isVisible())) {
    const left = await closed.count();
    assert.ok(left > 0, `no fold holds ${key}`);
    await enter(page, closed);
    assert.ok(await until(async () => (await closed.count()) < left), 'a fold did not open');
  }
  return go(page, field);
}

/** Types a text into a field and replaces its content. */
export async function type(page, key, text) {
  const field = await reach(page, key);
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Delete');
  await page.keyboard.type(text);
  // The typed text stays until the field is left; only then a field may format its value.
  assert.equal(plain(await field.inputValue()).replace(/ /g, ''), text.replace(/ /g, ''), `what stands in ${key}`);
}

/** Chooses an option by the word that links use for it, with the arrow keys. */
export async function choose(page, key, word) {
  const field = await reach(page, key);
  const at = () => field.evaluate((element, value) => [element.selectedIndex, [...element.options].findIndex((option) => option.value === value)], word);
  const [now, wanted] = await at();
  assert.ok(wanted >= 0, `${key} has no choice ${word}`);
  for (let step = 0; step < Math.abs(wanted - now); step += 1) await page.keyboard.press(wanted > now ? 'ArrowDown' : 'ArrowUp');
  assert.equal(await field.inputValue(), word);
}

/** Searches in a list of models or GPUs and takes the first hit with that name. */
export async function pick(page, key, search, name) {
  const field = await reach(page, key);
  await page.keyboard.press('Control+a');
  await page.keyboard.type(search);
  for (let step = 0; step < 40; step += 1) {
    const active = await field.getAttribute('aria-activedescendant');
    if (active && plain(await page.locator(`#${active}`).textContent()).includes(name)) {
      await page.keyboard.press('Enter');
      return;
    }
    await page.keyboard.press('ArrowDown');
  }
  throw new Error(`${name} is not in the list of ${key}`);
}

/** Chooses the mode: `'train'`, `'tune'` or `'serve'`. */
export const mode = (page, name) => enter(page, part(page, `mode-${name}`));

/** The error line of a field, read where the input points to. */
export async function errorSaid(page, key) {
  const described = (await input(page, key).getAttribute('aria-describedby')) ?? '';
  assert.ok(described.split(' ').includes(`e-${key}`), `${key} does not point to its error`);
  return plain(await errorOf(page, key).textContent());
}
