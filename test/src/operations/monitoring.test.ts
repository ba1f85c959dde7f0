import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { METRICS, type MetricSpec } from '@goshawk/runtime';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const FOLDER = join(import.meta.dirname, '../../../deploy/monitoring');
const read = (path: string): string => readFileSync(join(FOLDER, path), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: {
    readonly summary: string;
    readonly description: string;
    readonly runbook_url: string;
  };
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly fieldConfig?: { readonly defaults: { readonly thresholds?: object } };
  readonly gridPos: { readonly x: number; readonly w: number };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}

const rules = (parse(read('alerts.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
interface Variable {
  readonly name: string;
  readonly query: string | { readonly query: string };
}

const dashboard = JSON.parse(read('grafana/dashboards/goshawk.json')) as {
  uid: string;
  panels: Panel[];
  templating: { list: Variable[] };
  annotations: { list: { expr: string }[] };
};
const variables = dashboard.templating.list.map(({ name, query }) => ({
  name,
  query: typeof query === 'string' ? query : query.query,
}));
const expressions = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...dashboard.panels.flatMap(({ title, targets }) =>
    (targets ?? []).map(({ expr }) => [title, expr] as const),
  ),
];

/** Returns our series that an expression names, with their label selectors. */
function namedIn(expr: string): { name: string; labels: [label: string, value: string][] }[] {
  return [...expr.matchAll(/\b(goshawk_[a-z_]+)(?:\{([^}]*)\})?/g)].map(([, name, braced]) => ({
    name: name!,
    labels: [...(braced ?? '').matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, label, value]) => [label!, value!]),
  }));
}

function specOf(name: string): MetricSpec | undefined {
  const all: Readonly<Record<string, MetricSpec>> = METRICS;
  const histogram = all[name.replace(/_(bucket|sum|count)$/, '')];
  return histogram?.kind === 'histogram' && histogram !== all[name] ? histogram : all[name];
}

describe('alerts and dashboard', () => {
  it.each(expressions)('%s queries metrics that the roles export: %s', (_, expr) => {
    for (const { name, labels } of namedIn(expr)) {
      const spec = specOf(name);
      expect(spec, name).toBeDefined();
      if (spec!.kind === 'histogram') expect(name).toMatch(/_(bucket|sum|count)$/);
      for (const [label, value] of labels) {
        // Buckets have their bound as a label.
        if (spec!.kind === 'histogram' && label === 'le') continue;
        const values = spec!.labels?.[label];
        expect(values, `${name}{${label}}`).toBeDefined();
        if (Array.isArray(values)) expect(values).toContain(value);
      }
    }
  });

  it.each(expressions)('%s uses rates only of counters: %s', (_, expr) => {
    for (const [, name] of expr.matchAll(/(?:rate|increase)\(\s*(goshawk_[a-z_]+)/g)) {
      expect(specOf(name!)?.kind).not.toBe('gauge');
    }
    for (const { name } of namedIn(expr)) {
      if (specOf(name)?.kind === 'gauge') continue;
      expect(expr).toMatch(new RegExp(`(rate|increase)\\(\\s*${name}`));
    }
  });

  it('are understood by promtool, where that is installed', ({ skip }) => {
    const folder = mkdtempSync(join(tmpdir(), 'goshawk-promtool-test-'));
    try {
      // Grafana substitutes the interval, but Prometheus requires one.
      const panels = expressions.slice(rules.length).map(([, expr], i) => ({
        record: `panel:${i}`,
        expr: expr.replaceAll(/\$__(rate_interval|range)/g, '1m'),
      }));
      const asRules = join(folder, 'panels.yml');
      writeFileSync(asRules, JSON.stringify({ groups: [{ name: 'panels', rules: panels }] }));
      const files = [join(FOLDER, 'alerts.yml'), asRules];
      const { error, status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', ...files], {
        encoding: 'utf8',
      });
      if (error !== undefined) return skip('promtool is not installed');
      expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('have unique names and summaries', () => {
    const names = rules.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^Goshawk[A-Z]/);
      expect(['warning', 'critical']).toContain(labels.severity);
      expect(annotations.summary.length).toBeGreaterThan(10);
      expect(annotations.description.length).toBeGreaterThan(10);
    }
  });

  it('have a runbook that exists', () => {
    const text = readFileSync(join(import.meta.dirname, '../../../docs/MONITORING.md'), 'utf8');
    const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, words]) => words!.toLowerCase());
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook_url, alert).toMatch(/#/);
      expect(headings).toContain(annotations.runbook_url.split('#')[1]);
    }
  });

  it('has defined variables of existing metrics, and uses each of them', () => {
    const text = JSON.stringify(dashboard.panels) + variables.map(({ query }) => query).join();
    const used = new Set([...text.matchAll(/\$(?!__)(\w+)/g)].map(([, name]) => name));
    expect([...used].sort()).toEqual(variables.map(({ name }) => name).sort());
    for (const { query } of variables)
      for (const { name } of namedIn(query)) expect(specOf(name), name).toBeDefined();
  });

  it('shows each metric by user only for the users of the variable', () => {
    const byUser = Object.keys(METRICS).filter((name) => /_user_/.test(name));
    expect(byUser.length).toBeGreaterThan(3);
    for (const name of byUser) {
      const shown = dashboard.panels.flatMap(({ targets = [] }) =>
        targets.filter(({ expr }) => expr.includes(name)),
      );
      expect(shown.length, name).toBeGreaterThan(0);
      for (const { expr } of shown) expect(expr).toContain(`${name}{user=~"$user"}`);
    }
  });

  it('describes every panel, and has thresholds, a list of alerts and their annotations', () => {
    const shown = dashboard.panels.filter(({ type }) => type !== 'row');
    for (const { title, description = '' } of shown) expect(description.length, title).toBeGreaterThan(10);
    expect(shown.filter(({ type }) => type === 'alertlist')).toHaveLength(1);
    expect(shown.filter(({ fieldConfig }) => fieldConfig?.defaults.thresholds).length).toBeGreaterThan(5);
    expect(dashboard.annotations.list.map(({ expr }) => expr)).toEqual([
      'ALERTS{alertname=~"Goshawk.*", alertstate="firing"}',
    ]);
  });

  it('uses plain words in titles and legends', () => {
    const legends = [
      ...read('grafana/dashboards/goshawk.json').matchAll(/"(?:title|legendFormat|description)": "(.*)"/g),
    ];
    expect(legends.length).toBeGreaterThan(100);
    for (const [, text] of legends)
      expect(text).not.toMatch(/stranger|at the door|parties| a second|that wait$|given back|taken back/);
  });

  it('has panels with unique ids, within the width', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { gridPos } of dashboard.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });

  it('are found by the provisioning', () => {
    const source = parse(read('grafana/provisioning/datasources/prometheus.yml')) as {
      datasources: { uid: string }[];
    };
    expect(JSON.stringify(dashboard)).toContain(`"uid":"${source.datasources[0]!.uid}"`);
    const files = readdirSync(FOLDER, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    for (const { name, parentPath } of files.filter((file) => /\.ya?ml$/.test(file.name))) {
      expect(parse(readFileSync(join(parentPath, name), 'utf8'))).toBeTypeOf('object');
    }
    const config = parse(read('prometheus.yml')) as { rule_files: string[] };
    expect(config.rule_files).toEqual(['/etc/prometheus/alerts.yml']);
  });
});
