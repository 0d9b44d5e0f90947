// Writes the first paint into index.html: the default scenario's bar, form and answer as the app
// draws them. The page then shows the answer before the program runs, and nothing moves when it
// takes over. Run after `cargo xtask build`:  node tests/e2e/frame.mjs   (then build again).
// frame.test.mjs fails while the two differ.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { frameOf, openPage } from './harness.mjs';

const INDEX = fileURLToPath(new URL('../../index.html', import.meta.url));

const page = await openPage({ viewport: { width: 1280, height: 720 } });
const frame = await frameOf(page);
const html = readFileSync(INDEX, 'utf8').replace(/<!--frame-->[^]*<!--\/frame-->/, () => `<!--frame-->${frame}<!--/frame-->`);
writeFileSync(INDEX, html);
console.log(`index.html: frame of ${frame.length} characters`);
process.exit(0);
