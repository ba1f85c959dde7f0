import { METRICS, type MetricSpec } from '@goshawk/runtime';

const ROLES = 3;

/** `docs/METRICS.md`. */
export function metricsReference(): string {
  return [
    '# Metrics',
    '',
    'Generated from the table that the code reads. Do not edit: change `packages/runtime/src/metrics/catalogue.ts`, then',
    '`UPDATE_GOLDEN=1 npx vitest run --project unit test/src/operations`.',
    '',
    '| metric | type | labels | process | description |',
    '|---|---|---|---|---|',
    ...Object.entries<MetricSpec>(METRICS).map(([name, spec]) => row(name, spec)),
    '',
  ].join('\n');
}

function row(name: string, { kind, help, labels = {}, of }: MetricSpec): string {
  const roles = typeof of === 'string' ? of : of.length === ROLES ? 'all' : of.join(', ');
  return `| \`${name}\` | ${kind} | ${Object.entries(labels).map(label).join('; ')} | ${roles} | ${help} |`;
}

/** Long lists of values are described by their location. */
function label([name, values]: [string, NonNullable<MetricSpec['labels']>[string]]): string {
  if (!Array.isArray(values)) return `\`${name}\` ${(values as { one: string }).one}`;
  if (name === 'type') return '`type`: see `docs/PROTOCOL.md`';
  return `\`${name}\`: ${values.join(', ')}`;
}
