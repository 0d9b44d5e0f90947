// Accessibility: axe finds no violation of WCAG 2.2 AA in any state.

import { test } from 'node:test';
import { axe, noConsoleErrors } from './harness.mjs';
import { allFetched, input, open, openAll, part, pasteText, type } from './steps.mjs';

const SHORT = 'v1&m=llama3-70b&n=16';
const PAIR = 'v1&m=llama2-13b&gpu=a100-40&n=16&z=2&b.gpu=h100-80&b.n=8&b.z=3';
const CONFIG = '{"model_type":"llama","hidden_size":2048,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":8192,"vocab_size":128256,"what":1}';

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
