// Accessibility: WCAG 2.2 AA in every state by axe, and checks that axe does not make: the
// keyboard, the charts, zoom, motion, the sticky bar and paper.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axe, noConsoleErrors, screenshot } from './harness.mjs';
import { describing, focused } from './keys.mjs';
import { address, allFetched, answer, choose, errorOf, input, link, mode, open, painted, part, pasteText, plain, textOf, type, unfold, unroll, until } from './steps.mjs';

const SHORT = 'v1&m=llama3-70b&n=16';
const PAIR = 'v1&m=llama2-13b&gpu=a100-40&n=16&z=2&b.gpu=h100-80&b.n=8&b.z=3';
const CONFIG = '{"model_type":"llama","hidden_size":2048,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":8192,"vocab_size":128256,"what":1}';

const press = (page, ...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
const openAll = async (page) => {
  await allFetched(page);
  await unfold(page);
  for (const summary of await page.locator('details:not([open]) > summary').all()) if (await summary.isVisible()) await summary.click();
  for (const name of ['Weights', 'Optimizer states', 'Activations']) await unroll(page, name);
  for (const button of await page.locator('tr.ledger__item .ledger__toggle').all()) await button.click();
  // From the top: a row that the sticky bar cuts has a small target only where the reader stopped.
  await page.evaluate(() => globalThis.scrollTo(0, 0));
};

/** States to check: name, link, options for opening the page (`dark`: both colour schemes are
 * checked), and steps to take on it. */
const STATES = [
  ['the default scenario', undefined, { dark: true }],
  ['a scenario that does not fit', SHORT, { dark: true }],
  ['a layout that cannot run', 'v1&n=15', { dark: true }],
  ['serving', 'v1&do=serve', {}],
  ['an input that needs a look', undefined, { dark: true }, (page) => type(page, 's', '-1')],
  ['an input in a fold that needs a look', undefined, {}, (page) => type(page, 'kv', '7')],
  ['help opened', undefined, { dark: true }, (page) => page.getByRole('button', { name: 'About Sharding' }).click()],
  ['a list of models', undefined, { dark: true }, (page) => input(page, 'm').click()],
  ['a list that finds nothing', undefined, {}, (page) => input(page, 'm').fill('zzzz')],
  ['messages', 'v1&m=acme-13b&gpu=k80&xyz=1', { dark: true }],
  ['an impossible scenario', 'v1&m=llama3-70b&tp=3&kv=7', { dark: true }],
  ['an impossible scenario on a phone', 'v1&m=llama3-70b&tp=3', { viewport: { width: 360, height: 740 }, touch: true }],
  ['the dialog to share', undefined, { dark: true }, (page) => part(page, 'share').click()],
  ['the dialog to save', undefined, {}, (page) => part(page, 'save').click()],
  ['the dialog to paste, with a model', undefined, { dark: true }, async (page) => {
    await pasteText(page, CONFIG);
    await part(page, 'paste-report').waitFor();
  }],
  ['the dialog to paste, with rubbish', undefined, {}, async (page) => {
    await pasteText(page, '<html>401</html>');
    await part(page, 'paste-error').waitFor();
  }],
  ['a saved scenario and its message', undefined, {}, async (page) => {
    await part(page, 'save').click();
    await part(page, 'save-confirm').click();
  }],
  ['a comparison', PAIR, { dark: true }],
  ['everything open', undefined, { dark: true }, openAll],
  ['320 pixels', SHORT, { viewport: { width: 320, height: 640 } }],
  ['320 pixels, everything open', PAIR, { viewport: { width: 320, height: 640 } }, openAll],
  ['a phone', undefined, { viewport: { width: 360, height: 740 }, touch: true }],
  ['forced colours', SHORT, { forcedColors: true }],
  ['forced colours, dark', SHORT, { forcedColors: true, colorScheme: 'dark' }],
  ['forced colours, everything open', PAIR, { forcedColors: true }, openAll],
  ['more contrast', SHORT, { contrast: 'more' }],
  ['more contrast, dark', SHORT, { contrast: 'more', colorScheme: 'dark' }],
];

for (const [name, fragment, options, prepare] of STATES) {
  test(`axe finds nothing: ${name}`, async () => {
    // Motion is off, so that no colour is measured in the middle of a transition.
    const page = await open(fragment, { reducedMotion: true, ...options });
    await allFetched(page);
    await prepare?.(page);
    await axe(page);
    if (options.dark) {
      await page.emulateMedia({ colorScheme: 'dark' });
      await axe(page);
    }
    noConsoleErrors(page);
    await page.close();
  });
}

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

test('targets are at least 24 pixels; on a touch screen those of the form and the bar 44', async () => {
  const small = (page, selector, least) =>
    page.evaluate(
      ([chosen, size]) => {
        // Links within a sentence are exempt (2.5.8).
        const inline = (element) => element.matches('.link, a') && element.closest('p, li, h2, span') !== null;
        return [...document.querySelectorAll(chosen)]
          .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !inline(element))
          .map((element) => [element, element.getBoundingClientRect()])
          .filter(([, box]) => box.width > 0 && (box.width < size - 0.5 || box.height < size - 0.5))
          .map(([element, box]) => {
            const name = element.getAttribute('aria-label') ?? (element.id || element.textContent.trim().slice(0, 30));
            return `${element.tagName.toLowerCase()} ${name}: ${box.width.toFixed(0)}×${box.height.toFixed(0)}`;
          });
      },
      [selector, least],
    );
  const all = 'button, select, input:not([type=checkbox]):not([type=radio]):not([type=file]), label:has([type=radio]), summary, [role=slider], label.field__check, label.button';
  const desktop = await open(SHORT);
  await openAll(desktop);
  assert.deepEqual(await small(desktop, all, 24), []);
  const phone = await open(SHORT, { viewport: { width: 360, height: 740 }, touch: true });
  await openAll(phone);
  assert.deepEqual(await small(phone, all, 24), []);
  const main = '.bar button, .switch__option, select, input:not([type=checkbox]):not([type=radio]):not([type=file]), label:has([type=radio]), .controls summary, .fix, label.field__check, .curve__hear';
  assert.deepEqual(await small(phone, main, 44), []);
});

test('at 400 % zoom and with wide text nothing scrolls sideways', async () => {
  const wide = (page) =>
    page.evaluate(() => {
      const limit = document.documentElement.clientWidth;
      if (document.documentElement.scrollWidth <= limit) return [];
      const scrolls = (element) => element && (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(element).overflowX) ? true : scrolls(element.parentElement));
      return [...document.querySelectorAll('body *')]
        .filter((element) => element.getBoundingClientRect().right > limit + 1 && !scrolls(element.parentElement))
        .slice(0, 8)
        .map((element) => `${element.tagName.toLowerCase()}.${element.getAttribute('class')} to ${element.getBoundingClientRect().right.toFixed(0)} of ${limit}`);
    });
  const spacing = (page) =>
    page.evaluate(() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync('* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }');
      document.adoptedStyleSheets = [sheet];
    });
  for (const viewport of [{ width: 320, height: 256 }, { width: 360, height: 740 }, { width: 768, height: 900 }, { width: 1024, height: 700 }, { width: 1280, height: 720 }]) {
    const page = await open(PAIR, { viewport });
    await openAll(page);
    await type(page, 's', '-1');
    assert.deepEqual(await wide(page), [], `${viewport.width} pixels`);
    await spacing(page);
    assert.deepEqual(await wide(page), [], `${viewport.width} pixels with wide text`);
    for (const name of ['share', 'paste']) {
      await page.evaluate((id) => document.querySelector(`[data-testid="${id}"]`).click(), name);
      assert.deepEqual(await wide(page), [], `${viewport.width} pixels, ${name}`);
      await page.keyboard.press('Escape');
    }
    await page.close();
  }
});

/** Texts that are cut off or outside the page. */
const cutOff = (page) =>
  page.evaluate(() => {
    const limit = document.documentElement.clientWidth;
    const scrolls = (element) => element && (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
    return [...document.querySelectorAll('h1, h2, h3, button, summary, label, th, td, p')]
      .filter((element) => element.checkVisibility({ visibilityProperty: true }) && element.getBoundingClientRect().width > 1)
      .filter((element) => {
        const hides = getComputedStyle(element).overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1;
        return hides || (element.getBoundingClientRect().right > limit + 1 && !scrolls(element.parentElement));
      })
      .map((element) => `${element.tagName.toLowerCase()}.${element.className} ${element.textContent.trim().slice(0, 40)}`);
  });

test('no label, heading or button is cut off, in narrow windows and with letters twice as large', async () => {
  for (const [fragment, width] of [[PAIR, 320], ['v1&do=serve', 360], ['v1&do=tune', 1024], [undefined, 1280]]) {
    const page = await open(fragment, { viewport: { width, height: 900 } });
    await openAll(page);
    assert.deepEqual(await cutOff(page), [], `${width} pixels`);
    await page.close();
  }
  const page = await open(PAIR, { viewport: { width: 1280, height: 900 } });
  await openAll(page);
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('html { font-size: 200% !important; }');
    document.adoptedStyleSheets = [sheet];
  });
  assert.deepEqual(await cutOff(page), [], 'twice as large');
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page scrolls sideways');
});

/** Contrast of two colours as `getComputedStyle` writes them. */
function contrast(a, b) {
  const light = (colour) => {
    const [red, green, blue] = colour.match(/[\d.]+/g).slice(0, 3).map((part) => Number(part) / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  };
  return Math.max(light(a) / light(b), light(b) / light(a));
}

for (const colorScheme of ['light', 'dark']) {
  test(`forced colours (${colorScheme}): charts, focus, verdict and buttons can be seen`, async () => {
    const page = await open(PAIR, { forcedColors: true, colorScheme });
    const system = await page.evaluate(() => {
      const probe = document.body.appendChild(document.createElement('i'));
      const colours = Object.fromEntries(
        ['Canvas', 'CanvasText', 'ButtonText', 'Highlight'].map((name) => {
          probe.style.color = name;
          return [name, getComputedStyle(probe).color];
        }),
      );
      probe.remove();
      return colours;
    });
    const style = (selector, ...names) =>
      page.locator(selector).evaluateAll((list, wanted) => list.map((element) => wanted.map((name) => getComputedStyle(element)[name])), names);

    // Layers are outlined, and each has its own visible pattern.
    const layers = await style('.chart-curve .chart-area', 'stroke');
    assert.ok(layers.length >= 8 && layers.every(([stroke]) => stroke === system.CanvasText), layers.join(' '));
    const marks = await style('.chart-curve .chart-marks', 'stroke', 'strokeOpacity');
    assert.ok(marks.length > 0, 'no layer has a pattern');
    for (const [stroke, opacity] of marks) {
      assert.ok(contrast(stroke, system.Canvas) >= 3 && Number(opacity) === 1, `${stroke} at ${opacity}`);
    }
    const drawn = await page.locator('#plot-seq .chart-marks').evaluateAll((list) => list.map((element) => element.getAttribute('d')));
    assert.equal(new Set(drawn).size, drawn.length);
    // Lines and texts of a chart have contrast.
    for (const line of ['.chart-capacity', '.chart-now', '.chart-compare', '.chart-axis']) {
      const strokes = await style(line, 'stroke');
      assert.ok(strokes.length > 0 && strokes.every(([stroke]) => contrast(stroke, system.Canvas) >= 3), `${line}: ${strokes}`);
    }
    const fills = await style('.chart-curve text', 'fill');
    assert.ok(fills.length > 0, 'a chart has no text');
    for (const [fill] of fills) assert.ok(contrast(fill, system.Canvas) >= 4.5, fill);

    // The verdict has a readable text and a mark.
    const [[ink, ground]] = await style('[data-testid=verdict] h1', 'color', 'backgroundColor');
    assert.ok(contrast(ink, system.Canvas) >= 4.5, `${ink} on ${ground}`);

    // Buttons and inputs have an edge, and a pressed button looks different from one that is not.
    for (const selector of ['.bar .button[data-testid]', '.field__box, .field__input']) {
      const edges = await style(selector, 'borderTopStyle', 'borderTopWidth', 'borderTopColor', 'outlineStyle');
      const seen = edges.filter(([kind, width, colour]) => kind !== 'none' && parseFloat(width) >= 1 && contrast(colour, system.Canvas) >= 3);
      assert.ok(seen.length > 0, `${selector}: ${edges.join(' | ')}`);
    }
    const [pressed] = await style('.switch__option[aria-pressed=true]', 'backgroundColor', 'color');
    assert.equal(pressed[0], system.Highlight);
    assert.ok(contrast(pressed[0], pressed[1]) >= 3, pressed.join(' on '));

    // The focused element has a visible ring.
    for (const selector of ['[data-testid=share]', '#f-s', '#f-z', '#plot-seq', '#plot-gpus', '[data-testid=mode-serve]', '.curve__hear', 'summary']) {
      const target = page.locator(selector).first();
      await page.locator('.skip').first().focus();
      await press(page, 'Tab');
      await target.focus();
      const rings = await target.evaluate((element) =>
        [element, element.closest('.field__box, label') ?? element].map((node) => getComputedStyle(node)).map((found) => [found.outlineStyle, found.outlineWidth, found.outlineColor]),
      );
      const ring = rings.find(([kind, width, colour]) => kind !== 'none' && parseFloat(width) >= 2 && contrast(colour, system.Canvas) >= 3);
      assert.ok(ring, `${selector}: ${rings.join(' | ')}`);
    }
    await screenshot(page, `forced-${colorScheme}`);
    noConsoleErrors(page);
  });
}

test('who asks for less motion gets none', async () => {
  const page = await open(SHORT, { reducedMotion: true });
  await part(page, 'share').click();
  const moving = await page.evaluate(() =>
    [...document.querySelectorAll('*')]
      .filter((element) => {
        const style = getComputedStyle(element);
        const seconds = (list) => Math.max(...list.split(',').map((part) => parseFloat(part) * (part.includes('ms') ? 0.001 : 1)));
        return seconds(style.transitionDuration) > 0.02 || (style.animationName !== 'none' && seconds(style.animationDuration) > 0.02);
      })
      .map((element) => `${element.tagName} ${element.className}`),
  );
  assert.deepEqual(moving, []);
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior), 'auto');
});

test('paper: one light page with inputs, verdict, table, both curves, link, version and date', async () => {
  for (const [fragment, chosen] of [[undefined, false], [SHORT, true], ['v1&do=serve&m=llama3-70b', false], [PAIR, false]]) {
    const page = await open(fragment, { colorScheme: 'dark' });
    if (chosen) await page.evaluate(() => document.documentElement.setAttribute('data-theme', 'dark'));
    await allFetched(page); // the sheet for paper comes with the rest
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const shown = (selector) => page.locator(selector).first().isVisible();
    for (const selector of ['.printed', '[data-testid=verdict] h1', fragment === PAIR ? 'table.compare' : '[data-testid=ledger]', '#stack svg', '[data-testid=curve-seq] svg', '[data-testid=curve-gpus] svg']) {
      assert.ok(await shown(selector), `${selector} is not printed`);
    }
    for (const selector of ['.controls', '.bar', '.curve__head .switch', '[data-testid=saved]']) assert.ok(!(await shown(selector)), `${selector} is printed`);
    const light = await page.evaluate(() => {
      const colour = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number);
      const ink = getComputedStyle(document.querySelector('h1')).color.match(/[\d.]+/g).map(Number);
      return (colour[3] === 0 || colour.slice(0, 3).every((part) => part > 240)) && ink.slice(0, 3).every((part) => part < 120);
    });
    assert.ok(light, 'dark paper');
    const shared = await link(page);
    const text = await textOf(page.locator('.printed'));
    for (const piece of [`#${shared}`, /Headroom \d+\.\d+\.\d+/, /\d{2}\/\d{2}\/\d{4}/, /Sequence length|Context length/]) {
      assert.ok(piece instanceof RegExp ? piece.test(text) : text.includes(piece), `${piece} is not printed: ${text}`);
    }
    const pdf = (await page.pdf({ preferCSSPageSize: true, printBackground: true })).toString('latin1');
    assert.equal(pdf.match(/\/Type\s*\/Page\b(?!s)/g).length, 1, `${fragment ?? 'the default scenario'}: more than one page`);
    noConsoleErrors(page);
  }
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
