// Shared by the end-to-end tests: the built page on a local server, a browser, and checks that
// every state must pass.
//
// The page is served below a folder (/any/path/) so that an address that is not relative fails.
// `openPage` returns a Playwright page; everything a test opens is closed when it ends.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, afterEach } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const DIST = path.resolve(HERE, '../../dist');
const OUT = path.join(HERE, 'out');

/** The folder of the server that holds the page. */
export const PREFIX = '/any/path/';

/** Programs, packed or not. */
export const PROGRAMS = /\.(wasm|packed)$/;

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.wasm': 'application/wasm',
  '.packed': 'application/octet-stream',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
};

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** True if the tests run against the page that is one file, opened without a server. */
export const single = process.env.HEADROOM_SINGLE === '1';

let server;
let browser;
const records = new WeakMap(); // page -> what it logged and requested
const packed = new Map(); // file -> its content after gzip
const contexts = new Set(); // of the running test

// A page that stays open takes memory and time from the tests behind it.
afterEach(async () => {
  const ended = [...contexts];
  contexts.clear();
  await Promise.all(ended.map((context) => context.close()));
});

after(async () => {
  await browser?.close();
  server?.close();
});

/** The address of the page, without a fragment; starts the server on first use. */
export async function pageUrl() {
  const file = path.join(DIST, single ? 'headroom.html' : 'index.html');
  assert.ok(existsSync(file), `${file} is missing: run \`cargo xtask build\`${single ? ' with --single-file' : ''} first`);
  if (single) return pathToFileURL(file).href;
  server ??= await serve(() => DIST);
  return server.url;
}

/** Serves the folder that `folderOf` returns at each request; returns the server's address and a
 * function that ends it. */
export async function serve(folderOf) {
  const made = http.createServer((request, response) => answer(folderOf(), request, response));
  await new Promise((listening) => made.listen(0, '127.0.0.1', listening));
  const close = () => {
    made.closeAllConnections();
    made.close();
  };
  return { url: `http://127.0.0.1:${made.address().port}${PREFIX}`, close };
}

async function answer(folder, request, response) {
  try {
    const { pathname } = new URL(request.url, 'http://127.0.0.1');
    assert.ok(pathname.startsWith(PREFIX));
    const name = decodeURIComponent(pathname.slice(PREFIX.length)) || 'index.html';
    const file = path.join(folder, path.normalize(`/${name}`));
    const body = packed.get(file) ?? gzipSync(await readFile(file), { level: 9 });
    packed.set(file, body);
    response.writeHead(200, {
      'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream',
      'content-encoding': 'gzip',
      'content-length': body.length,
      'x-content-type-options': 'nosniff',
      // GitHub Pages and others send this header, too. A frame without an origin of its own needs
      // it, because its requests count as cross-origin.
      'access-control-allow-origin': '*',
    });
    response.end(body);
  } catch {
    response.writeHead(404).end();
  }
}

/**
 * Opens the page in a browser profile of its own (empty local storage) and returns the Playwright
 * page after `load`.
 *
 * - `fragment`: the part of the address after `#`
 * - `viewport`: `{ width, height }` in CSS pixels
 * - `colorScheme`: `'light'` or `'dark'`; `contrast`: `'more'` for high contrast
 * - `reducedMotion`: true asks for less movement; `forcedColors`: true takes the system's colours
 * - `touch`: true for a phone with a touch screen
 * - `blockWasm`: the WebAssembly file cannot be loaded; `javaScript`: false switches scripts off
 * - `offline`: the network goes away after the page has loaded
 * - `context`: open a second tab in the profile of another page, `context: page.context()`
 * - `serviceWorkers`: true lets the page keep itself for visits without a network; `url`: another server's page
 * - `prepare`: called with the page before it is opened, for `page.addInitScript` or `page.route`
 */
export async function openPage(options = {}) {
  const url = options.url ?? (await pageUrl());
  const context = options.context ?? (await newContext(options));
  const page = await context.newPage();
  const record = { errors: [], requests: [] };
  records.set(page, record);
  page.on('console', (message) => message.type() === 'error' && record.errors.push(message.text()));
  page.on('pageerror', (error) => record.errors.push(`uncaught: ${error.message}`));
  page.on('request', (request) => record.requests.push(request));
  if (options.blockWasm) await page.route(PROGRAMS, (route) => route.abort());
  await options.prepare?.(page);
  await page.goto(options.fragment ? `${url}#${options.fragment}` : url, { waitUntil: 'load' });
  if (options.offline) await context.setOffline(true);
  return page;
}

async function newContext(options) {
  browser ??= await chromium.launch({ executablePath: browserPath(), args: FLAGS });
  const context = await browser.newContext({
    viewport: options.viewport ?? { width: 1280, height: 800 },
    colorScheme: options.colorScheme ?? 'light',
    contrast: options.contrast ?? 'no-preference',
    reducedMotion: options.reducedMotion ? 'reduce' : 'no-preference',
    forcedColors: options.forcedColors ? 'active' : 'none',
    hasTouch: options.touch ?? false,
    isMobile: options.touch ?? false,
    locale: 'en-GB',
    serviceWorkers: options.serviceWorkers ? 'allow' : 'block',
    javaScriptEnabled: options.javaScript ?? true,
  });
  contexts.add(context);
  return context;
}

function browserPath() {
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const found = folders.flatMap((folder) => names.map((name) => path.join(folder, name))).find((file) => existsSync(file));
  const file = process.env.CHROME_PATH ?? found;
  assert.ok(file, 'no browser found: install chromium, or name one in CHROME_PATH');
  return file;
}

/** Every request the page has made so far. */
export function requestsOf(page) {
  return records.get(page).requests;
}

/** Bytes of the page's responses as transferred (gzip), without headers. */
export async function bytesLoaded(page) {
  const sizes = await Promise.all(requestsOf(page).filter(isRemote).map((request) => request.sizes()));
  return sizes.reduce((sum, size) => sum + size.responseBodySize, 0);
}

/** Fails when the page logged an error or threw one. Warnings pass: Chromium warns about unused
 * preloads. */
export function noConsoleErrors(page) {
  assert.deepEqual(records.get(page).errors, []);
}

/** Fails when the page asked another server for anything, or its own for anything outside its
 * folder. */
export async function noForeignRequests(page) {
  const home = await pageUrl();
  const foreign = requestsOf(page).filter(isRemote).map((request) => request.url()).filter((url) => !url.startsWith(home));
  assert.deepEqual(foreign, []);
}

function isRemote(request) {
  return !/^(data|blob):/.test(request.url());
}

/** Fails when axe finds a violation of WCAG 2.2 A or AA in the page's present state, and says
 * which and where. */
export async function axe(page) {
  const file = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
  // Not addScriptTag: the page's content security policy forbids inline scripts.
  await page.evaluate(readFileSync(file, 'utf8'));
  const violations = await page.evaluate(async () => {
    // From the top: a button that the sticky bar cuts has a small target only where the reader stopped.
    const at = globalThis.scrollY;
    globalThis.scrollTo({ top: 0, behavior: 'instant' });
    const result = await globalThis.axe.run({
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
      rules: { 'target-size': { enabled: true } },
    });
    globalThis.scrollTo({ top: at, behavior: 'instant' });
    return result.violations.map((violation) => ({
      rule: violation.id,
      help: violation.help,
      where: violation.nodes.map((node) => `${node.target.join(' ')}: ${node.failureSummary}`),
    }));
  });
  assert.deepEqual(violations, []);
}

/** Saves a screenshot as tests/e2e/out/NAME.png. */
export async function screenshot(page, name, options = {}) {
  mkdirSync(OUT, { recursive: true });
  await page.screenshot({ path: path.join(OUT, `${name}.png`), fullPage: true, ...options });
}
