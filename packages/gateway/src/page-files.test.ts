import { expect, it } from 'vitest';
import { gatewayTo } from './gateway.fixture.js';

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
  const links = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link!);
  expect(links.length).toBeGreaterThan(3);
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
