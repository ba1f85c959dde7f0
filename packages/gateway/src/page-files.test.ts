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
