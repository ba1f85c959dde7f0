import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { K8S, ROOT } from './manifests.js';

/** The rules of `deploy/monitoring/alerts.yml`, as the Prometheus operator takes them. */
function prometheusRule(): string {
  const { groups } = parse(readFileSync(join(ROOT, 'deploy/monitoring/alerts.yml'), 'utf8')) as {
    groups: unknown;
  };
  const rule = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: {
      name: 'goshawk',
      labels: { 'app.kubernetes.io/name': 'goshawk', 'app.kubernetes.io/part-of': 'goshawk' },
    },
    spec: { groups },
  };
  return `# Generated from deploy/monitoring/alerts.yml: UPDATE_GOLDEN=1 npm run test:unit\n${stringify(rule, { lineWidth: 0 })}`;
}

test('the alerts on Kubernetes are those of deploy/monitoring', () => {
  const file = join(K8S, 'components/monitoring/prometheus-rule.yaml');
  if (process.env.UPDATE_GOLDEN) writeFileSync(file, prometheusRule());
  expect(readFileSync(file, 'utf8')).toBe(prometheusRule());
});
