import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { WAITING_REASONS } from '@goshawk/core';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { metricsReference } from './metrics-reference.js';

const ROOT = join(import.meta.dirname, '../../..');
const PATH = join(ROOT, 'docs/OPERATIONS.md');
const BEGIN = '<!-- metrics: made from packages/runtime/src/metrics/catalogue.ts -->\n';
const END = '\n<!-- end of metrics -->';

describe('docs/OPERATIONS.md', () => {
  it('has the table of metrics that the code has (UPDATE_GOLDEN=1 writes it)', () => {
    const page = readFileSync(PATH, 'utf8');
    const [before, rest] = page.split(BEGIN) as [string, string];
    const after = rest.slice(rest.lastIndexOf(END));
    const current = `${before}${BEGIN}${metricsReference()}${after}`;
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(PATH, current);
    else expect(page).toBe(current);
  });

  it('says what to do about each alert, and about no other', () => {
    const text = readFileSync(join(ROOT, 'deploy/monitoring/alerts.yml'), 'utf8');
    const { groups } = parse(text) as { groups: { rules: { alert: string }[] }[] };
    const headings = [...readFileSync(PATH, 'utf8').matchAll(/^### (Goshawk\w+)$/gm)].map(([, name]) => name);
    expect(headings).toEqual(groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)));
  });

  it('has each reason for which tasks wait', () => {
    const reasons = [...readFileSync(PATH, 'utf8').matchAll(/^\| `([a-z-]+)` \| (?!200|Prom|JSON)/gm)];
    expect(reasons.map(([, reason]) => reason)).toEqual(WAITING_REASONS);
  });
});
