// Accessibility: all that a pointer does can be done with the keyboard, and what is done is spoken.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noConsoleErrors } from './harness.mjs';
import { describing, focused } from './keys.mjs';
import { address, allFetched, answer, choose, errorOf, input, link, mode, open, painted, part, plain, textOf, type, unfold, until } from './steps.mjs';

const SHORT = 'v1&m=llama3-70b&n=16';

const press = (page, ...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());

/** Everything that the Tab key should reach. */
const reachable = (page) =>
  page.evaluate(() => {
    const candidates = document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]');
    const shown = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled && element.tabIndex >= 0;
    return [...candidates].filter(shown).map(globalThis.describe);
  });

for (const [name, viewport] of [['a desktop', { width: 1280, height: 720 }], ['a phone', { width: 360, height: 740 }]]) {
  test(`the Tab key reaches everything on ${name}, in sight, and nothing holds it`, async () => {
    const page = await open(SHORT, { viewport, prepare: describing });
    await allFetched(page);
    await unfold(page);
    const expected = await reachable(page);
    assert.ok(expected.length > 60);
    // Starts at the first stop of the Tab key, because the browser would continue from the last
    // click.
    await page.locator('.skip').first().focus();
    const seen = [await page.locator('.skip').first().evaluate((element) => globalThis.describe(element))];
    const problems = [];
    for (const key of ['Tab', 'Shift+Tab']) {
      for (let step = 0; step < expected.length + 5; step += 1) {
        await page.keyboard.press(key);
        const now = await focused(page);
        if (now.body) break;
        if (key === 'Tab') seen.push(now.name);
        if (!now.visible) problems.push(`${now.name}: no visible focus`);
        if (now.covered) problems.push(`${now.name}: under the sticky bar (${key})`);
        if (now.outside) problems.push(`${now.name}: out of sight (${key})`);
      }
    }
    assert.deepEqual([...new Set(problems)], []);
    assert.deepEqual(expected.filter((item) => !seen.includes(item)), []);
  });
}

test('the first stops skip to the answer and to the inputs, and write no link', async () => {
  const page = await open(SHORT);
  const before = page.url();
  for (const [tabs, place] of [[1, 'answer'], [2, 'form']]) {
    await page.evaluate(() => document.activeElement.blur());
    await page.locator('.skip').first().focus();
    if (tabs === 2) await press(page, 'Tab');
    await press(page, 'Enter');
    assert.equal(await page.evaluate(() => document.activeElement.id), place);
    assert.equal(page.url(), before);
  }
});

test('dialogs open from the keyboard, keep the focus, close with Escape and give it back', async () => {
  const page = await open();
  for (const name of ['share', 'save', 'paste']) {
    await part(page, name).focus();
    await page.keyboard.press('Enter');
    await page.locator('dialog[open]').waitFor();
    for (let step = 0; step < 12; step += 1) {
      await page.keyboard.press('Tab');
      const inside = await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest('dialog') !== null);
      assert.ok(inside, `${name}: the focus left the dialog`);
    }
    await page.keyboard.press('Escape');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
    assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), name, 'the focus returns');
  }
  // The dialog's own buttons close it, too.
  await part(page, 'share').focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), 'share');
  noConsoleErrors(page);
});

test('a model is chosen with the keyboard alone', async () => {
  const page = await open();
  const field = input(page, 'm');
  await field.focus();
  await page.keyboard.type('llama 2');
  // The search of the list comes with the program's later part, and marks its best row when it is
  // there.
  await until(async () => /Llama 2/.test(await page.locator('#l-m').getByRole('option').first().textContent()));
  await press(page, 'ArrowDown');
  const active = await field.getAttribute('aria-activedescendant');
  const option = page.locator(`#${active}`);
  assert.equal(await option.getAttribute('aria-selected'), 'true');
  const name = plain(await option.locator('span').first().textContent());
  await press(page, 'Enter');
  assert.equal(plain(await field.inputValue()), name);
  assert.ok((await answer(page)).headline.includes(name));
  // The marked row stays in sight far down the list.
  await press(page, 'ArrowDown', ...Array(30).fill('ArrowDown'));
  const marked = page.locator(`#${await field.getAttribute('aria-activedescendant')}`);
  const inSight = await until(() =>
    marked.evaluate((element) => {
      const [row, list] = [element.getBoundingClientRect(), element.parentElement.getBoundingClientRect()];
      return row.top >= list.top - 1 && row.bottom <= list.bottom + 1;
    }),
  );
  assert.ok(inSight, 'the marked row is scrolled out of the list');
  await press(page, 'Escape');
  assert.equal(await field.getAttribute('aria-expanded'), 'false');
  assert.equal(plain(await field.inputValue()), name);
});

test('numbers step with the arrow keys', async () => {
  const page = await open();
  await input(page, 'n').focus();
  await press(page, 'ArrowUp');
  assert.match((await answer(page)).headline, /on 16 ×/);
  await press(page, 'ArrowDown', 'ArrowDown');
  assert.match((await answer(page)).headline, /on 4 ×/);
});

for (const [id, key, other] of [['plot-seq', 's', 'gpus'], ['plot-gpus', 'n', 'seq']]) {
  test(`the curve ${id} is read and set with the keyboard, and speaks politely`, async () => {
    const page = await open();
    const plot = page.locator(`#${id}`);
    const reading = plot.locator('xpath=..').locator('.curve__readout');
    const spoken = () => plot.getAttribute('aria-valuetext').then(plain);
    await plot.focus();
    if (id === 'plot-gpus') {
      // Its switch requests the best layouts, which the curve then speaks as well.
      await part(page, 'line-best').click();
      assert.equal(await part(page, 'line-best').getAttribute('aria-pressed'), 'true');
      await plot.focus();
      await page.waitForFunction((name) => document.getElementById(name).getAttribute('aria-valuetext').includes('Best layout'), id);
    }
    const start = await spoken();
    assert.match(start, /(tokens|GPUs): [\d.]+ GiB, [\d.]+ free(\. Best layout: .+)?$/);
    await press(page, 'ArrowRight');
    const next = await spoken();
    assert.notEqual(next, start);
    assert.equal(await textOf(reading), next);
    // The polite live region announces the point after a pause.
    const polite = async () => plain((await page.locator('[aria-live=polite]').allTextContents()).join(' '));
    assert.ok(await until(async () => (await polite()).includes(next)), 'nothing was announced');
    await press(page, 'ArrowLeft');
    assert.equal(await spoken(), start);
    const at = async () => Number(await plot.getAttribute('aria-valuenow'));
    const [least, most] = [Number(await plot.getAttribute('aria-valuemin')), Number(await plot.getAttribute('aria-valuemax'))];
    await press(page, 'Home');
    assert.equal(await at(), least);
    await press(page, 'PageUp');
    assert.ok((await at()) > least);
    await press(page, 'End');
    assert.equal(await at(), most);
    // Reading changes nothing; Escape goes back to the scenario's own point.
    assert.equal(await link(page), await link(await open()));
    await press(page, 'Escape');
    assert.equal(await spoken(), start);
    // Enter takes the point over.
    await press(page, 'ArrowRight', 'ArrowRight');
    const chosen = await at();
    await press(page, 'Enter');
    // The part of the program that carries it out may still be on its way.
    const taken = async () => plain(await input(page, key).inputValue()).replace(/ /g, '') === String(chosen);
    assert.ok(await until(taken), `${key} is ${await input(page, key).inputValue()} and not ${chosen}`);
    assert.ok((await address(page)).includes(`${key}=${chosen}`));
    assert.equal(await page.evaluate(() => document.activeElement.id), id);
    assert.ok(other);
  });
}

test('what can be dragged can also be clicked or typed', async () => {
  const page = await open();
  for (const [id, key] of [['plot-seq', 's'], ['plot-gpus', 'n']]) {
    const value = async () => {
      await painted(page);
      return input(page, key).inputValue();
    };
    const before = await value();
    const area = await page.locator(`#${id}`).boundingBox();
    await page.mouse.click(area.x + area.width * 0.75, area.y + area.height / 2);
    assert.notEqual(await value(), before, `a click on ${id}`);
    // Dragging moves the point, too.
    const clicked = await value();
    await page.mouse.move(area.x + area.width * 0.75, area.y + area.height / 2);
    await page.mouse.down();
    await page.mouse.move(area.x + area.width * 0.3, area.y + area.height / 2, { steps: 5 });
    await page.mouse.up();
    assert.notEqual(await value(), clicked, `dragging on ${id}`);
    const dragged = await value();
    await page.mouse.move(area.x + area.width * 0.9, area.y + area.height / 2);
    assert.equal(await value(), dragged, 'moving without a button changes nothing');
  }
  // Dragging is one step of undo for each curve.
  await page.keyboard.press('Control+z');
  noConsoleErrors(page);
});

test('the points of a curve are also a table', async () => {
  const page = await open();
  for (const name of ['curve-seq', 'curve-gpus']) {
    await part(page, name).locator('summary').click();
    const rows = part(page, name).locator('table tbody tr');
    await rows.first().waitFor();
    assert.ok((await rows.count()) > 4);
    const spoken = plain(await part(page, name).getByRole('slider').getAttribute('aria-valuetext'));
    const said = (await rows.evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent).join(': ')))).map(plain);
    assert.ok(said.includes(spoken), spoken);
  }
});

test('an error is tied to its input, and the verdict is announced once, not with every key', async () => {
  const page = await open();
  await type(page, 's', 'many');
  assert.equal(await errorOf(page, 's').getAttribute('id'), 'e-s');
  assert.match(await input(page, 's').getAttribute('aria-describedby'), /\be-s\b/);
  await type(page, 's', '8192');
  await page.waitForTimeout(900);
  await page.evaluate(() => {
    globalThis.said = [];
    new MutationObserver(() => globalThis.said.push(document.getElementById('announcer').textContent)).observe(document.getElementById('announcer'), { childList: true, characterData: true, subtree: true });
  });
  // All changes are made in one call, because between two keys a busy machine might pause long
  // enough to be announced.
  await input(page, 'n').evaluate((field) => {
    for (const gpus of ['16', '32', '64', '128', '2', '1']) {
      field.value = gpus;
      field.dispatchEvent(new Event('input', { bubbles: true }));
    }
  });
  await page.waitForTimeout(1100);
  const said = await until(() => page.evaluate(() => globalThis.said.length > 0 && globalThis.said));
  assert.equal(said.length, 1, said.join(' | '));
  assert.match(plain(said[0]), /^Does not fit\. .* on 1 × H100/);
});

test('serving by keyboard: the switch, a list of choices, a box to tick', async () => {
  const page = await open();
  await part(page, 'mode-serve').focus();
  await press(page, 'Space');
  assert.match((await answer(page)).headline, /^\S.* Serving /);
  assert.equal(await part(page, 'mode-serve').getAttribute('aria-pressed'), 'true');
  await choose(page, 'w', 'int8');
  await mode(page, 'train');
  await unfold(page);
  await input(page, 'sp').focus();
  await press(page, 'Space');
  assert.match(await link(page), /sp=1/);
  noConsoleErrors(page);
});
