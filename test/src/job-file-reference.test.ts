import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jobJsonSchema, parseJobSpec } from '@goshawk/core';
import { expect, test } from 'vitest';

const PATH = join(import.meta.dirname, '../../docs/JOBS.md');
const BEGIN = '<!-- fields: made from the schema of jobs (UPDATE_GOLDEN=1) -->\n';
const END = '\n<!-- end of fields -->';

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | false;
  readonly not?: object;
}

function kindOf({ type, anyOf, items, additionalProperties }: Schema): string {
  if (anyOf !== undefined) {
    const kinds = anyOf.filter(({ not }) => not === undefined).map(kindOf);
    return [...new Set(kinds)].join(' or ');
  }
  if (type === 'array') return items?.anyOf === undefined ? `list, each ${kindOf(items!)}` : 'list';
  if (type === 'object' && additionalProperties) return `object, each value ${kindOf(additionalProperties)}`;
  return type ?? 'anything';
}

function table(schema: Schema): string {
  const rows = Object.entries(schema.properties!).map(([name, field]) => {
    const needed = schema.required?.includes(name) ? ', required' : '';
    const unless = field.default === undefined ? '' : ` [${JSON.stringify(field.default)}]`;
    return `| \`${name}\` | ${kindOf(field)}${needed} | ${field.description}${unless} |`;
  });
  return ['| field | type | description |', '|---|---|---|', ...rows].join('\n');
}

function reference(): string {
  const job = jobJsonSchema() as Schema;
  const stage = job.properties!.stages!.items!;
  const [list] = job.properties!.tasks!.anyOf!;
  const kinds = list!.items!.anyOf!.map((kind) => {
    return `**A task with \`${kind.required![0]}\`:**\n\n${table(kind)}`;
  });
  return [
    `**A job:**\n\n${table(job)}`,
    `**A stage:**\n\n${table(stage)}`,
    '`tasks` is a list of tasks, or `{"count": N, "run": TASK}` for N identical tasks. There are three kinds of task.',
    ...kinds,
  ].join('\n\n');
}

test('docs/JOBS.md matches the schema (UPDATE_GOLDEN=1 writes it)', () => {
  const page = readFileSync(PATH, 'utf8');
  const [before, rest] = page.split(BEGIN) as [string, string];
  const current = `${before}${BEGIN}\n${reference()}\n${rest.slice(rest.indexOf(END))}`;
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(PATH, current);
  else expect(page).toBe(current);
});

test('each field has a description', () => {
  expect(reference()).not.toContain('undefined');
});

test('job files of docs/JOBS.md and docs/TUTORIAL.md are jobs', () => {
  const page = ['JOBS', 'TUTORIAL']
    .map((name) => readFileSync(join(PATH, `../${name}.md`), 'utf8'))
    .join('\n');
  const fenced = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => text!);
  const written = [...page.matchAll(/<<'END'\n([\s\S]*?)\nEND\n/g)].map(([, text]) => text!);
  expect([...fenced, ...written]).toHaveLength(3);
  for (const text of [...fenced, ...written]) expect(() => parseJobSpec(JSON.parse(text))).not.toThrow();
});
