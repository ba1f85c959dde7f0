import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { pageBundle, writePage } from '../../../scripts/page-bundle.mjs';
import { gatewayTo } from './gateway.fixture.js';

beforeAll(writePage);

it.each([
  ['the overview', 'pictures.js'],
  ['another view', 'views.js'],
])('%s is at most 60 kB in four requests, and the bundle is the same each time', async (_, part) => {
  const url = await gatewayTo({});
  const files = ['/', '/style.css', '/main.js', `/${part}`];
  const texts = await Promise.all(files.map(async (file) => (await fetch(`${url}${file}`)).text()));
  const bytes = texts.reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0);
  expect(bytes).toBeLessThan(60_000);
  const again = await pageBundle();
  expect([again['style.css'], again['main.js'], again[part as 'views.js']]).toEqual(texts.slice(1));
});

it('the page is served compressed, and only again after a change', async () => {
  const url = await gatewayTo({});
  const first = await fetch(`${url}/style.css`);
  expect(first.headers.get('content-encoding')).toBe('gzip');
  expect(first.headers.get('cache-control')).toBe('no-cache');
  const etag = first.headers.get('etag')!;
  const again = await fetch(`${url}/style.css`, { headers: { 'if-none-match': etag } });
  expect(again.status).toBe(304);
  const plain = await fetch(`${url}/style.css`, { headers: { 'accept-encoding': 'identity' } });
  expect(plain.headers.get('content-encoding')).toBeNull();
  expect(await plain.text()).toBe(await first.text());
});

it('the page has only relative addresses, so that a proxy can serve it below another path', async () => {
  const url = await gatewayTo({});
  const html = await (await fetch(`${url}/`)).text();
  const links = [...html.matchAll(/(?:href|src)="([^"]*)"/g)]
    .map(([, link]) => link!)
    .filter((link) => !link.startsWith('data:'));
  expect(links.length).toBe(2);
  for (const link of links) {
    expect(link).toMatch(/^\.\//);
    expect((await fetch(new URL(link, `${url}/`))).status).toBe(200);
  }
});

it('HEAD, by which load balancers probe, is answered like GET', async () => {
  const url = await gatewayTo({});
  for (const path of ['/', '/style.css', '/livez']) {
    const { status, headers } = await fetch(`${url}${path}`, { method: 'HEAD' });
    expect([path, status]).toEqual([path, 200]);
    expect(headers.get('content-length')).not.toBe('0');
  }
});

it('the style sheet defines each color of the page, for light and dark mode', () => {
  const folder = join(import.meta.dirname, '../page');
  const [, list] = /COLOURS = \[([^\]]*)\]/.exec(readFileSync(join(folder, 'src/ui.tsx'), 'utf8'))!;
  const names = [...list!.matchAll(/'([\w-]+)'/g)].map(([, name]) => name!);
  expect(names.length).toBeGreaterThan(10);
  const style = readFileSync(join(folder, 'style.css'), 'utf8');
  const dark = style.indexOf('@media (prefers-color-scheme: dark)');
  for (const scheme of [style.slice(0, dark), style.slice(dark)])
    expect(names.filter((name) => !scheme.includes(`--${name}: #`))).toEqual([]);
});
