import { ANSWERS, type FieldKind, MESSAGE_TYPES, MESSAGES, type MessageType } from '@goshawk/core';

/** `docs/PROTOCOL.md`, made from the table of messages. */
export function messageReference(): string {
  return [
    '# Protocol',
    '',
    'Generated from `packages/core/src/messages/table.ts`, like the types and the codec. Do not',
    'edit: change the table, then `UPDATE_GOLDEN=1 npx vitest run --project unit test/src/message-reference`.',
    '',
    'Messages between two parties arrive in order while their connection lasts; the protocol assumes nothing else. Names',
    'that end in `Ms` are milliseconds. An _address_ is one incarnation of a party. `?` marks an optional field.',
    '',
    '| message | from | to |',
    '|---|---|---|',
    ...MESSAGE_TYPES.map((type) => `| [${type}](#${type.toLowerCase()}) | ${ends(type).join(' | ')} |`),
    ...MESSAGE_TYPES.flatMap(section),
    '',
  ].join('\n');
}

function section(type: MessageType): string[] {
  const { faults, fields } = MESSAGES[type];
  const [from, to] = ends(type);
  const answers: readonly MessageType[] =
    (ANSWERS as Partial<Record<MessageType, readonly MessageType[]>>)[type] ?? [];
  const links = answers.map((answer) => `[${answer}](#${answer.toLowerCase()})`);
  const answered = links.length === 0 ? '' : ` Answered by ${links.join(' or ')}.`;
  const lines = ['', `## ${type}`, '', `${from} → ${to}. ${faults}${answered}`];
  const names = Object.entries(fields as Record<string, FieldKind>);
  if (names.length === 0) return lines;
  return [...lines, '', ...names.map(([name, kind]) => `- \`${nameOf(name, kind)}\`: ${describe(kind)}`)];
}

function ends(type: MessageType): [from: string, to: string] {
  const { from, to } = MESSAGES[type];
  return [from.join(', '), to.join(', ')];
}

function nameOf(name: string, kind: FieldKind): string {
  return kind.kind === 'optional' ? `${name}?` : name;
}

function describe(kind: FieldKind): string {
  switch (kind.kind) {
    case 'count':
      return kind.max === undefined
        ? 'count'
        : `count, ${kind.min ? `${kind.min} to` : 'at most'} ${formatted(kind.max)}`;
    case 'integer':
      return 'whole number';
    case 'number':
      return 'number';
    case 'signed':
      return 'number of either sign';
    case 'flag':
      return 'flag';
    case 'text':
      return `text, at most ${formatted(kind.lengthMax)} characters`;
    case 'bytes':
      return `bytes, at most ${formatted(kind.lengthMax)}`;
    case 'address':
      return 'address';
    case 'resources':
      return 'amounts by resource';
    case 'choice':
      return kind.of.map((choice) => `\`${choice}\``).join(' or ');
    case 'optional':
      return describe(kind.of);
    case 'list':
      return `list of ${describe(kind.of)}, at most ${formatted(kind.lengthMax)}`;
    case 'record':
      return `{ ${Object.entries(kind.fields)
        .map(([name, of]) => `${nameOf(name, of)}: ${describe(of)}`)
        .join('; ')} }`;
    case 'open':
      return 'anything JSON-like, checked by its reader';
    case 'parsed':
      return 'validated by the receiver';
  }
}

function formatted(count: number): string {
  return count.toLocaleString('en');
}
