// Every step of every story fits on one screen: there is no scroll bar, and nothing is cut off.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { noConsoleErrors } from './harness.mjs';
import { open, part, textOf, until } from './steps.mjs';

const FOLDER = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../src/lessons/stories');
const STORIES = readdirSync(FOLDER).map((file) => JSON.parse(readFileSync(path.join(FOLDER, file), 'utf8')));

/** The smallest letters of a slide, in CSS pixels; beside the QR code the picture's letters may
 * be smaller. */
const LETTERS = { picture: 12, besideCode: 9 };

/** The part of the page that a step shows, by the word in the story's file. */
const PICTURES = {
  bar: '[data-own="stack"]',
  states: '[data-own="stack"]',
  answer: '[data-own="verdict"]',
  length: '[data-own="curve-seq"]',
  gpus: '[data-own="curve-gpus"]',
  step: '#timeline',
  ledger: '[data-own="ledger"]',
  time: '[data-own="time"]',
  methods: '#methods',
};

/** Lists the faults of the present slide: parts that are too high, too wide, cut off or too
 * small. */
function wrong(page, picture, smallest) {
  return page.evaluate(
    ([selector, letters]) => {
      const found = [];
      const root = document.documentElement;
      const [width, height] = [innerWidth, innerHeight];
      if (root.scrollHeight > height) found.push(`the page is ${root.scrollHeight} px high`);
      if (root.scrollWidth > width) found.push(`the page is ${root.scrollWidth} px wide`);
      const name = (element) => `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? element.id} “${(element.textContent ?? '').trim().slice(0, 24)}”`;
      const seen = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== 'hidden';
      const inside = (element, box, where) => {
        const area = element.getBoundingClientRect();
        if (area.bottom > box.bottom + 1.5 || area.right > box.right + 1.5 || area.top < box.top - 1.5 || area.left < box.left - 1.5) {
          found.push(`${name(element)} leaves ${where}: ${[area.top, area.bottom, area.left, area.right].map(Math.round)}`);
        }
      };
      const window_ = { top: 0, left: 0, right: width, bottom: height };
      const stage = document.getElementById('present');
      const of = (selectors, base = document) => [...base.querySelectorAll(selectors)].filter(seen);
      for (const element of of('.present__title, .present__about, .present__figure b, .present__text, .present__ask, .present__bar', stage)) inside(element, window_, 'the window');
      if (selector && !root.hasAttribute('data-asking')) {
        const shown = document.querySelector(selector);
        if (!shown || !seen(shown)) found.push('there is no picture');
        else {
          // The picture must end where the sentence begins.
          const free = { ...window_, bottom: stage.getBoundingClientRect().top };
          // A shown QR code is beside the picture.
          const code = of('#present-qr')[0];
          if (code) {
            inside(code, free, 'the picture');
            free.right = code.getBoundingClientRect().left;
          }
          const pieces = of('th, td, text, h1, p, dt, dd, li, b, span:not(.sr), figcaption, h3', shown).filter((piece) => piece.textContent.trim() && !piece.closest('.sr'));
          if (pieces.length === 0) found.push('the picture is empty');
          for (const piece of pieces) inside(piece, free, 'the picture');
          // Shown inputs are above the picture, and a chart fills the free room.
          const inputs = of('.controls .field').map((field) => field.getBoundingClientRect());
          for (const field of of('.controls .field')) inside(field, free, 'the picture');
          const area = (shown.querySelector('.curve__plot') ?? shown).getBoundingClientRect();
          for (const field of inputs) if (field.bottom > area.top + 1) found.push(`an input stands over the picture: ${Math.round(field.bottom)} > ${Math.round(area.top)}`);
          if (area.width < 0.8 * free.right) found.push(`the picture is ${Math.round(area.width)} px wide`);
          const chart = shown.querySelector('.curve__plot svg, .step__wide svg')?.getBoundingClientRect();
          const room = free.bottom - Math.max(0, ...inputs.map((field) => field.bottom));
          if (chart && chart.height < 0.6 * room) found.push(`the chart is ${Math.round(chart.height)} px high, of ${Math.round(room)}`);
          // For an audience, a part that scrolls by itself counts as cut off.
          for (const box of of('*', shown)) {
            const { overflowX, overflowY } = getComputedStyle(box);
            if (overflowY !== 'visible' && box.scrollHeight > box.clientHeight + 2 && box.clientHeight > 0 && !box.closest('svg')) found.push(`${name(box)} is cut off below`);
            if (overflowX !== 'visible' && box.scrollWidth > box.clientWidth + 2 && box.clientWidth > 0 && !box.closest('svg')) found.push(`${name(box)} is cut off at its side`);
          }
          for (const piece of pieces.filter((piece) => piece.childElementCount === 0)) {
            const svg = piece.ownerSVGElement;
            const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : (piece.currentCSSZoom ?? 1);
            const size = parseFloat(getComputedStyle(piece).fontSize) * scale;
            if (size < letters - 0.1) found.push(`${name(piece)} has letters of ${size.toFixed(1)} px`);
          }
        }
      }
      return [...new Set(found)].slice(0, 6);
    },
    [picture, smallest],
  );
}

/** Waits until the picture is complete: the worker's panels come later, and charts adapt their
 * size after that. */
async function settled(page, picture) {
  const stands = (selector) => document.documentElement.hasAttribute('data-asking') || !document.querySelector(selector)?.hasAttribute('aria-busy');
  assert.ok(await until(() => page.evaluate(stands, picture)), `${picture} does not come`);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done), 60))));
}

for (const viewport of [{ width: 1280, height: 800 }, { width: 1280, height: 720 }]) {
  test(`every step fits ${viewport.width} × ${viewport.height}, its question too`, async () => {
    const problems = [];
    let steps = 0;
    const coded = new Set();
    for (const story of STORIES) {
      const page = await open(`v1&present=${story.id}.1`, { viewport });
      await part(page, 'stage').waitFor();
      for (const [index, told] of story.steps.entries()) {
        const place = `${index + 1} of ${story.steps.length}`;
        assert.ok(await until(async () => (await textOf(part(page, 'present-place'))) === place), place);
        const look = async (what) => {
          const picture = PICTURES[told.look];
          await settled(page, picture);
          // Checks again after a moment, because a picture may still be drawn.
          let found = [];
          for (let again = 0; again < 8; again += 1) {
            found = await wrong(page, picture, what ? LETTERS.besideCode : LETTERS.picture);
            if (found.length === 0) break;
            await page.waitForTimeout(60);
          }
          problems.push(...found.map((problem) => `${story.id} ${index + 1}${what}: ${problem}`));
          if (process.env.HEADROOM_SHOTS) await page.screenshot({ path: `${process.env.HEADROOM_SHOTS}/${story.id}-${index + 1}${what.trim()}-${viewport.height}.png` });
        };
        if (told.question) {
          await look(' asking');
          await page.keyboard.press('Space');
        }
        await look('');
        steps += 1;
        // Every kind of picture leaves room for the QR code, also in the smaller window.
        if (viewport.height === 720 && !coded.has(told.look)) {
          coded.add(told.look);
          await page.keyboard.press('q');
          await page.locator('#present-qr path').waitFor();
          await look(' with its code');
          await page.keyboard.press('q');
        }
        await page.keyboard.press('ArrowRight');
      }
      noConsoleErrors(page);
      await page.close();
    }
    assert.equal(steps, 56);
    assert.equal(coded.size, viewport.height === 720 ? Object.keys(PICTURES).length : 0);
    assert.deepEqual(problems, []);
  });
}
