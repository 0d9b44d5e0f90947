import { screenshot } from './harness.mjs';
import { open, part } from './steps.mjs';
const SMALL = 'v1&m=llama3-8b&n=8&ker=megatron&gb=64';
async function go(name, options, lines) {
  const page = await open(SMALL, options);
  await part(page, 'planner').locator('> summary').click();
  await page.locator('#plan form').waitFor();
  await lines(page);
  await part(page, 'plan-search').click();
  await part(page, 'plan-status').filter({ hasText: /^(Finished|[^S])/ }).waitFor({ timeout: 60000 });
  await page.waitForTimeout(200);
  const wide = await page.evaluate(() => [...document.querySelectorAll('#plan *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.methods__scroll, .twin__scroll')).map((e) => `${e.tagName}.${e.getAttribute('class')} ${e.getBoundingClientRect().right}`).slice(0, 12));
  console.log(name, wide);
  await part(page, 'planner').screenshot({ path: `/tmp/shots-plan/${name}.png` });
}
const counts = async (page) => { await page.locator('#plan input[value="counts"]').check(); await page.locator('#plan-n-counts').fill('64'); };
const several = async (page) => { await page.getByText('GPUs to compare').click(); for (const id of ['a100-80', 'h100-80', 't4']) await page.locator(`#plan [name="acc-${id}"]`).check(); };
await go('light', {}, counts);
await go('dark', { colorScheme: 'dark' }, counts);
await go('phone', { viewport: { width: 360, height: 740 } }, counts);
await go('several', {}, several);
await go('phone-several', { viewport: { width: 360, height: 740 }, colorScheme: 'dark' }, several);
process.exit(0);
