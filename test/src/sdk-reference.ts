import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGES = join(import.meta.dirname, '../../packages');

/** Names listed first; the rest follow by kind. */
const FIRST = ['connect', 'Cluster', 'JobHandle'];
const KINDS = ['class', 'interface', 'type', 'const', 'function'];

interface Declaration {
  readonly name: string;
  readonly kind: string;
  /** Empty if there is no comment. */
  readonly doc: string;
  readonly signature: string;
  readonly members: readonly Member[];
}

interface Member {
  readonly name: string;
  readonly signature: string;
  readonly doc: string;
}

/**
 * Generates the reference of the SDK from the exports of `packages/client/src/index.ts` and their doc comments. It
 * parses text and depends on the formatter: declarations begin a line, and members are indented by two blanks.
 */
export function sdkReference(): string {
  const files = [...sourcesOf('client'), ...sourcesOf('core')];
  const found = exportedNames().map((name) => declarationOf(name, files));
  const rank = ({ name, kind }: Declaration): number =>
    FIRST.includes(name) ? FIRST.indexOf(name) - FIRST.length : KINDS.indexOf(kind);
  return found
    .sort((a, b) => rank(a) - rank(b))
    .map(section)
    .join('\n\n');
}

function sourcesOf(name: string): string[][] {
  const folder = join(PACKAGES, name, 'src');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(
      (path) => path.endsWith('.ts') && !/\.(test|fixture)\.ts$/.test(path) && !path.endsWith('index.ts'),
    )
    .sort()
    .map((path) => readFileSync(join(folder, path), 'utf8').split('\n'));
}

/** `export { a, type b } from …` and `export type { c } from …`. */
export function exportedNames(): string[] {
  const index = readFileSync(join(PACKAGES, 'client/src/index.ts'), 'utf8');
  const lists = [...index.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].map(([, names]) => names!);
  const own = [...index.matchAll(/^export (?:type|interface|const|function|class) (\w+)/gm)].map(
    ([, name]) => name!,
  );
  const named = lists
    .flatMap((list) => list.split(','))
    .map((name) => name.replace(/^\s*(?:type )?/, '').trim());
  return [...named, ...own].filter((name) => name !== '');
}

function declarationOf(name: string, files: readonly (readonly string[])[]): Declaration {
  const pattern = new RegExp(
    `^export (?:declare |abstract |async )*(class|interface|type|const|function)\\*? ${name}\\b`,
  );
  for (const lines of files) {
    const at = lines.findIndex((line) => pattern.test(line));
    if (at < 0) continue;
    const kind = pattern.exec(lines[at]!)![1]!;
    const hasMembers = kind === 'class' || kind === 'interface';
    const last = lines.findIndex((line, index) => {
      if (index < at) return false;
      if (kind === 'type') return line.endsWith(';') && !lines[index + 1];
      return /^(?:\}|.*;$|.*\};?$)/.test(line) && !/^ /.test(line);
    });
    const body = hasMembers ? lines.slice(at + 1, last) : [];
    return {
      name,
      kind,
      doc: docAbove(lines, at),
      signature: signatureOf(kind, lines.slice(at, last + 1)),
      members: membersOf(body),
    };
  }
  throw new Error(`the declaration of ${name} was not found`);
}

/** Empty if the members suffice, or if the type is inferred from the table of messages. */
function signatureOf(kind: string, lines: readonly string[]): string {
  if (kind === 'function') return signatureAt(lines, 0);
  const text = lines.join('\n').replace(/^export /, '');
  if (kind === 'type') return /typeof|z\.infer/.test(text) ? '' : text;
  return kind === 'interface' && / extends /.test(lines[0]!) ? `${text.split(' {')[0]!}` : '';
}

function membersOf(body: readonly string[]): Member[] {
  const members: Member[] = [];
  for (const [index, line] of body.entries()) {
    const name =
      /^ {2}(?:readonly |static |async |get |override |\*)*\*?([a-z]\w*)\??[(<:]|^ {2}get ([a-z]\w*)\(/.exec(
        line,
      );
    if (name === null || /^ {2}(?:constructor|if|for|return)\b/.test(line)) continue;
    members.push({
      name: (name[1] ?? name[2])!,
      signature: signatureAt(body, index),
      doc: docAbove(body, index),
    });
  }
  // The implementation of an overload is not callable; the first overload has the comment.
  return members.filter(({ name, doc }, index) => {
    const others = members.filter((each, at) => each.name === name && at !== index);
    return others.length === 0 || doc !== '' || members.findLastIndex((each) => each.name === name) !== index;
  });
}

/** Returns the text up to the body or the end of the statement, on one line. */
function signatureAt(lines: readonly string[], at: number): string {
  let text = '';
  for (const line of lines.slice(at)) {
    text += ` ${line.trim()}`;
    const depth = (text.match(/[({<[]/g)?.length ?? 0) - (text.match(/(?<![=])[)}>\]]/g)?.length ?? 0);
    if ((text.endsWith('{') && depth === 1) || (text.endsWith(';') && depth === 0)) break;
  }
  return text
    .trim()
    .replace(/\s*[{;]$/, '')
    .replace(/^export /, '')
    .replace(/\b(?:async|override|readonly) /g, '')
    .replace(/\( /g, '(')
    .replace(/,? \)/g, ')');
}

function docAbove(lines: readonly string[], at: number): string {
  if (!/\*\/\s*$/.test(lines[at - 1] ?? '')) return '';
  let first = at - 1;
  while (!/^\s*\/\*\*/.test(lines[first]!)) first -= 1;
  return lines
    .slice(first, at)
    .map((line) => line.replace(/\s*\*\/\s*$/, '').replace(/^\s*\/?\*+ ?/, ''))
    .join(' ')
    .replace(/\s+/g, ' ')
    .replace(/([^.:;\s])\s*@throws/g, '$1. Throws:')
    .replace(/@throws/g, 'Throws:')
    .replace(/@returns/g, 'Returns:')
    .replace(/@typeParam (\w+)/g, '`$1`:')
    .replace(/@param (\w+)/g, '`$1`:')
    .trim();
}

function section({ name, doc, signature, members }: Declaration): string {
  const head = [`### ${name}`, ...(doc === '' ? [] : [doc])];
  if (signature !== '') head.push(`\`\`\`ts\n${signature}\n\`\`\``);
  if (members.length > 0)
    head.push(
      members.map((each) => `- \`${each.signature}\`${each.doc === '' ? '' : `: ${each.doc}`}`).join('\n'),
    );
  return head.join('\n\n');
}
