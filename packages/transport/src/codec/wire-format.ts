import { type FieldKind, type Fields, MESSAGE_TYPES, MESSAGES } from '@goshawk/core';

/**
 * Returns the wire format as text, one line per message: `13 place(job:count,…)`. A golden test detects accidental
 * incompatibility with older processes.
 */
export function wireFormat(): string {
  return MESSAGE_TYPES.map(
    (type, code) => `${code} ${type}(${describeFields(MESSAGES[type].fields)})\n`,
  ).join('');
}

function describeFields(fields: Fields): string {
  return Object.entries(fields)
    .map(([name, field]) => `${name}:${describeField(field)}`)
    .join(',');
}

function describeField(field: FieldKind): string {
  switch (field.kind) {
    case 'count':
      return field.max === undefined ? 'count' : `count(${field.min ?? 0}..${field.max})`;
    case 'text':
    case 'bytes':
      return `${field.kind}(${field.lengthMax})`;
    case 'choice':
      return `choice(${field.of.join('|')})`;
    case 'optional':
      return `${describeField(field.of)}?`;
    case 'list':
      return `list(${describeField(field.of)},${field.lengthMax})`;
    case 'record':
      return `record(${describeFields(field.fields)})`;
    default:
      return field.kind;
  }
}
