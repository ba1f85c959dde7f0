import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { WAITING_REASONS } from '@goshawk/core';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { metricsReference } from './metrics-reference.js';

const ROOT = join(import.meta.dirname, '../../..');
const PATH = join(ROOT, 'docs/MONITORING.md');
const METRICS = join(ROOT, 'docs/METRICS.md');

interface Rule {
  readonly alert: string;
  readonly annotations: { readonly runbook_url?: string };
}

describe('docs/METRICS.md', () => {
  it('has the metrics of the code (UPDATE_GOLDEN=1 writes it)', () => {
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(METRICS, metricsReference());
    else expect(readFileSync(METRICS, 'utf8')).toBe(metricsReference());
  });
});

describe('docs/MONITORING.md', () => {
  it('has a runbook for each alert, and for no other', () => {
    const text = readFileSync(join(ROOT, 'deploy/monitoring/alerts.yml'), 'utf8');
    const { groups } = parse(text) as { groups: { rules: Rule[] }[] };
    const rules = groups.flatMap((group) => group.rules);
    const entries = [...readFileSync(PATH, 'utf8').matchAll(/^### (Goshawk\w+)$/gm)].map(([, name]) => name);
    expect(entries).toEqual(rules.map(({ alert }) => alert));
    for (const { alert, annotations } of rules)
      expect(annotations.runbook_url).toBe(
        `{{ $externalLabels.goshawk_docs }}/MONITORING.md#${alert.toLowerCase()}`,
      );
  });

  it('has each reason for which tasks wait', () => {
    const reasons = [...readFileSync(PATH, 'utf8').matchAll(/^\| `([a-z-]+)` \| (?!200|Prom|JSON)/gm)];
    expect(reasons.map(([, reason]) => reason)).toEqual(WAITING_REASONS);
  });
});
