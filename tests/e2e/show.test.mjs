// The answer's card, room to grow, the chart by GPUs, the bar of sections, what the top bar reaches, and the first visit's examples.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axe, noConsoleErrors } from './harness.mjs';
import { address, answer, downloaded, fetched, input, mode, open, painted, part, plain, textOf, type, until } from './steps.mjs';

const WIDE = { viewport: { width: 1280, height: 800 } };

test('a training’s card carries time and money on the first screen, and each explains itself', async () => {
  const page = await open('v1&m=llama3-8b&n=8', WIDE);
  const load = part(page, 'load');
  assert.match(await textOf(load), /One step [\d.]+ s.*The run [\d.]+ days.*Cost of the run \$[\d.]+ k at \$2\.00 per GPU-hour/);
  const box = await load.boundingBox();
  assert.ok(box.y + box.height <= 800, JSON.stringify(box));
  await page.getByRole('button', { name: 'Explain Cost of the run, in the answer' }).click();
  await page.locator('[data-why="card/Cost of the run"] math').first().waitFor();
  noConsoleErrors(page);
});

test('room to grow is set with a click, runs, and is undone', async () => {
  const page = await open('v1&m=llama3-8b&n=8', WIDE);
  const room = part(page, 'room');
  assert.match(await textOf(room), /Room to grow:.*sequences of .*micro-batch of \d/);
  await room.getByRole('button', { name: /micro-batch/ }).click();
  assert.equal(await input(page, 'b').inputValue(), '16');
  assert.match((await answer(page)).headline, /^Fits/);
  await part(page, 'undo').click();
  assert.equal(await input(page, 'b').inputValue(), '1');
  // The case of the users' guide: QLoRA on one card that is a little too small.
  const short = await open('v1&do=tune&m=qwen3-32b&gpu=rtx4090&n=1&ft=qlora&s=4096&gb=16&b=1', WIDE);
  assert.match(await textOf(part(short, 'room')), /^It would fit with:/);
  await part(short, 'room').getByRole('button').first().click();
  assert.match((await answer(short)).headline, /^Fits/);
  noConsoleErrors(page);
  noConsoleErrors(short);
});

test('the chart by GPUs: bars of one width, lines on request, a read-out of one height', async () => {
  const page = await open('v1&m=llama3-8b&n=24', { viewport: { width: 1280, height: 900 } });
  const chart = part(page, 'curve-gpus');
  const widths = await chart.locator('svg rect.chart-area').evaluateAll((bars) => bars.map((bar) => Math.round(bar.getBoundingClientRect().width)));
  assert.ok(widths.length > 20 && Math.max(...widths) - Math.min(...widths) <= 1, `${widths}`);
  assert.ok((await chart.locator('svg .chart-blocked').count()) >= 1);
  assert.match(await textOf(part(page, 'gpus-legend')), /cannot run: 24 \(a global batch of 128 cannot be divided by 24 data-parallel ranks\)/);
  assert.deepEqual([await chart.locator('.chart-naive').count(), await chart.locator('.chart-best').count()], [0, 0]);
  await part(page, 'line-division').click();
  await chart.locator('svg polyline.chart-naive').first().waitFor({ state: 'attached' });
  const readout = chart.locator('.curve__readout');
  const high = async () => (await readout.boundingBox()).height;
  const before = await high();
  await page.locator('#plot-gpus').focus();
  for (let step = 0; step < 8; step += 1) {
    await page.keyboard.press('ArrowRight');
    assert.equal(await high(), before);
  }
  noConsoleErrors(page);
});

test('typing a long length moves neither the charts nor their axes', async () => {
  const page = await open('v1&m=llama3-8b&n=8', { viewport: { width: 1280, height: 900 } });
  const place = () => page.locator('#plot-seq').evaluate((plot) => plot.getBoundingClientRect().top + scrollY);
  const ends = () => page.locator('#plot-seq').getAttribute('aria-valuemax');
  await painted(page);
  const [top, end] = [await place(), await ends()];
  await input(page, 's').fill('');
  for (const digit of '26214') {
    await page.keyboard.type(digit);
    await painted(page);
    if (await part(page, 'stale').count()) continue;
    assert.ok(Math.abs((await place()) - top) <= 1, `after ${digit}: ${await place()}, not ${top}`);
    assert.equal(await ends(), end);
  }
  noConsoleErrors(page);
});

test('the form stays in sight while the results scroll, and the bar follows', async () => {
  const page = await open('v1&m=llama3-8b&n=8', WIDE);
  await fetched(page, 'methods').catch(() => {});
  const current = () => page.locator('.sections__item[aria-current]').textContent();
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    await page.evaluate((share) => scrollTo(0, share * (document.documentElement.scrollHeight - innerHeight)), share);
    await painted(page);
    const box = await input(page, 'n').boundingBox();
    const form = await page.locator('.controls').boundingBox();
    assert.ok(form.y <= 800 && form.y + form.height >= 200 && box !== null, `at ${share}: ${JSON.stringify(form)}`);
  }
  await page.evaluate(() => scrollTo(0, 0));
  assert.ok(await until(async () => (await current()) === 'Memory'), await current());
  // By keyboard, and the focus goes along.
  await page.getByRole('button', { name: 'Time', exact: true }).focus();
  await page.keyboard.press('Enter');
  assert.ok(await until(async () => (await current()) === 'Time'), await current());
  assert.equal(await page.evaluate(() => document.activeElement.id), 'go-time');
  await axe(page);
  noConsoleErrors(page);
});

test('Teach is a view of its own, with the form beside it', async () => {
  const page = await open('v1&m=llama3-8b&n=8', WIDE);
  await part(page, 'teach-open').click();
  await page.locator('[data-testid^="present-"]').first().waitFor();
  assert.equal(await part(page, 'verdict').isVisible(), false);
  assert.equal(await input(page, 'n').isVisible(), true);
  await axe(page);
  await part(page, 'sections').getByRole('button', { name: 'Memory' }).click();
  assert.equal(await part(page, 'verdict').isVisible(), true);
  assert.ok((await page.locator('#plot-seq svg').boundingBox()).width > 200);
  noConsoleErrors(page);
});

test('a saved scenario opens with two clicks, and one click keeps another to compare', async () => {
  const page = await open('v1&m=llama2-7b&n=2', WIDE);
  await part(page, 'save').click();
  await page.locator('#save-name').fill('Mine');
  await part(page, 'save-confirm').click();
  await type(page, 'n', '4');
  await part(page, 'saved-menu-open').click();
  await axe(page);
  await part(page, 'saved-menu').getByRole('button', { name: 'Mine' }).click();
  assert.ok(await until(async () => (await input(page, 'n').inputValue()) === '2'));
  assert.equal(await part(page, 'saved-menu').isVisible(), false);
  await part(page, 'compare-open').click();
  await page.locator('#stack').getByText(/^B: /).waitFor();
  await type(page, 'n', '8');
  assert.ok(await until(async () => (await address(page)).includes('b.n=2')));
  await part(page, 'compare-open').click();
  const table = part(page, 'compare').locator('table');
  await table.waitFor();
  assert.match(plain(await table.textContent()), /Fits.*One step.*×\d/);
  noConsoleErrors(page);
});

test('a part of the bar and its name in the legend open their explanation', async () => {
  const page = await open('v1&m=llama3-8b&n=8', { viewport: { width: 390, height: 844 }, touch: true });
  await page.locator('#stack rect[data-do="open:why/bar/Optimizer states"]').click();
  await page.locator('[data-why="bar/Optimizer states"] math').first().waitFor();
  await page.locator('.stack__why', { hasText: 'Weights' }).click();
  await page.locator('[data-why="bar/Weights"] math').first().waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  noConsoleErrors(page);
});

test('a first visit is told what this is, with examples; a link’s reader is not', async () => {
  const page = await open(undefined, WIDE);
  assert.equal(await page.locator('.welcome .chip').count(), 6);
  await page.locator('.chip').first().click();
  assert.ok(await until(async () => /RTX 4090/.test((await answer(page)).headline)));
  assert.match(await page.title(), /RTX 4090/);
  for (const tag of ['og:title', 'og:image', 'og:description']) assert.equal(await page.locator(`meta[property="${tag}"]`).count(), 1);
  const manifest = await page.evaluate(async () => (await fetch(document.querySelector('link[rel=manifest]').href)).json());
  assert.equal(manifest.short_name, 'Headroom');
  const linked = await open('v1&m=llama3-8b&n=16', WIDE);
  assert.equal(await linked.locator('.welcome').isVisible(), false);
  // With a mouse too, the question marks are there before anybody looks for them.
  assert.equal(await linked.locator('.field__info').nth(3).evaluate((mark) => getComputedStyle(mark).opacity), '1');
  noConsoleErrors(page);
});

test('a chart taken along has its title, legend, answer and link in the picture', async () => {
  const page = await open('v1&m=llama3-8b&n=8', WIDE);
  await part(page, 'share').click();
  const button = page.getByRole('button', { name: 'Memory by number of GPUs as SVG', exact: true });
  await button.waitFor();
  const { text: markup } = await downloaded(page, () => button.click());
  for (const words of ['Memory by number of GPUs', 'Training Llama 3 8B', 'Optimizer states', 'Fits.', '#v2']) assert.ok(markup.includes(words), words);
  noConsoleErrors(page);
});

test('serving says what it costs in dollars, and its layouts are no section', async () => {
  const page = await open('v1&do=serve&m=llama3-8b&n=1', WIDE);
  assert.match(await textOf(part(page, 'load')), /Price of a million tokens \$[\d.]+/);
  assert.equal(await part(page, 'sections').getByRole('button', { name: 'Layouts' }).isVisible(), false);
  await mode(page, 'train');
  assert.equal(await part(page, 'sections').getByRole('button', { name: 'Layouts' }).isVisible(), true);
  noConsoleErrors(page);
});
