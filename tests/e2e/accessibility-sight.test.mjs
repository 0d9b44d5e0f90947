// Accessibility: sizes, zoom, forced colours, motion and paper.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noConsoleErrors, screenshot } from './harness.mjs';
import { focused } from './keys.mjs';
import { allFetched, link, open, openAll, part, textOf, type } from './steps.mjs';

const SHORT = 'v1&m=llama3-70b&n=16';
const PAIR = 'v1&m=llama2-13b&gpu=a100-40&n=16&z=2&b.gpu=h100-80&b.n=8&b.z=3';

const press = (page, ...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());

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
