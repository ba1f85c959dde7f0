import { expect, test } from 'vitest';
import { html, trusted } from './markup.js';

test('values are escaped for content and for quoted attributes', () => {
  const name = `<img src=x onerror="alert('1')">&amp;`;
  expect(html`<b title="${name}">${name}</b>`.text).toBe(
    '<b title="&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;">&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;</b>',
  );
});

test('markup, lists and missing values are inserted unchanged', () => {
  expect(html`<ul>${['<', 2].map((item) => html`<li>${item}</li>`)}${null}${trusted('<hr>')}</ul>`.text).toBe(
    '<ul><li>&lt;</li><li>2</li><hr></ul>',
  );
});

test('characters that HTML does not allow are made visible', () => {
  expect(html`${'a\u0000b\u001bc\nd\ud800'}`.text).toBe('a\uFFFDb\uFFFDc\nd\uFFFD');
});
