import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commentsOf } from './comments.js';

/**
 * Comments, documents and commit subjects are plain English. `plain-english.json` records the number of fragments per package,
 * which may only fall, and the packages and documents that are done. `UPDATE_GOLDEN=1` records lower numbers.
 */

const ROOT = resolve(import.meta.dirname, '../..');
const RECORD = join(import.meta.dirname, 'plain-english.json');

interface PlainEnglish {
  /** Subjects of commits after this one are checked. */
  readonly subjectsSince: string;
  /** Packages and documents in which the idioms no longer appear. */
  readonly done: readonly string[];
  /** Comments that open with a fragment, by package. */
  readonly fragments: Readonly<Record<string, number>>;
}

const record = JSON.parse(readFileSync(RECORD, 'utf8')) as PlainEnglish;

/** These openings make a relative clause the subject; write the subject first. */
const RELATIVE = /^(?:What|Who|Whom|Whose|Where|Of|For whom|For what|Whoever|Whatever|Wherever)\b/;

/** These openings are fine before a main clause ("With no lease, ..."), which a comma shows. */
const PREPOSITIONAL = /^(?:By|With|Without|As|That|To|From|Between|Than)\b/;

const IDIOMS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bcalm\b/i, 'stable, idle'],
  [/\brelieved?\b/i, 'unblocked'],
  [/\bspared\b/i, 'avoided, saved'],
  [/\bchoosy\b/i, 'with constraints'],
  [/\bthin\b(?! jobs?\b)/i, 'small'],
  [/\bof (?:one's|its|their|his|her|your|our) own\b/i, 'custom, separate, dedicated'],
  [/\bcame\b/i, 'arrived, or the present tense'],
  [/\b(?:un)?told\b/i, 'sent, notified, reported'],
  [/\bheld\b/i, 'the active "holds", or kept, stored, delayed'],
  [/\b(?:in|of) pieces\b/i, 'in chunks'],
  [/\b(?:leaves?|left|gives?|sends?|takes?|keeps?|no|last) word\b/i, 'message, notice, record'],
  [/\bin the mean\b/i, 'on average'],
  [/\bby (?:it|them)sel(?:f|ves)\b/i, 'automatically, alone'],
  [/\bwants?\b/i, 'needs, requests'],
  [/\bthere (?:is|are) (?:nobody|no one|none) (?:who|that)\b/i, 'no one, nothing'],
  [/\bwh(?:o|om|at|ere|ich)ever\b/i, 'the noun'],
  [/\balso (?:if|while|without)\b/i, 'even if, even while, even without'],
];

function tracked(...patterns: string[]): string[] {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', ...patterns];
  const output = execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' });
  return output.split('\0').filter((path) => path !== '' && existsSync(join(ROOT, path)));
}

/** The package of a file, or its top-level folder. */
function packageOf(path: string): string {
  const [first, second] = path.split('/') as [string, string];
  return first === 'packages' ? second : first;
}

function isFragment(text: string): boolean {
  const [sentence] = text.split(/[.:;](?:\s|$)/, 1) as [string];
  return RELATIVE.test(text) || (PREPOSITIONAL.test(text) && !sentence.includes(','));
}

const comments = tracked('*.ts')
  .filter((path) => path.includes('/'))
  .flatMap((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    return commentsOf(text).map((comment) => ({
      where: `${path}:${text.slice(0, comment.start).split('\n').length}`,
      package: packageOf(path),
      text: comment.text,
    }));
  });

function fragmentsByPackage(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const comment of comments) {
    counts[comment.package] = (counts[comment.package] ?? 0) + (isFragment(comment.text) ? 1 : 0);
  }
  return counts;
}

describe('comments', () => {
  test('that open with a fragment become fewer', () => {
    const counts = fragmentsByPackage();
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const percent = ((total / comments.length) * 100).toFixed(1);
    console.info(`${total} of ${comments.length} comments (${percent}%) open with a fragment`);
    if (process.env.UPDATE_GOLDEN === '1') {
      const fragments = Object.fromEntries(
        Object.keys(counts)
          .toSorted()
          .map((name) => [name, Math.min(counts[name]!, record.fragments[name] ?? Number.MAX_SAFE_INTEGER)]),
      );
      writeFileSync(RECORD, `${JSON.stringify({ ...record, fragments }, null, 2)}\n`);
      return;
    }
    const risen = Object.keys(counts).filter((name) => counts[name]! > (record.fragments[name] ?? 0));
    const findings = risen.map((name) => {
      const all = comments.filter((comment) => comment.package === name && isFragment(comment.text));
      return [
        `${name}: ${counts[name]} comments open with a fragment, ${record.fragments[name] ?? 0} are allowed; write subject and verb first`,
        ...all.map((comment) => `  ${comment.where}: ${comment.text.slice(0, 80)}`),
      ].join('\n');
    });
    expect(findings).toEqual([]);
  });

  test.each([
    ['What the policy reads', true],
    ['Of the workers, those that are free', true],
    ['By name', true],
    ['With no lease, the owner is lost.', false],
    ['As in raft, the leader decides', false],
    ['The workers that are free', false],
  ])('"%s" is a fragment: %s', (text, expected) => {
    expect(isFragment(text)).toBe(expected);
  });
});

test('comments are found beside strings, templates and regular expressions', () => {
  const text = [
    "const a = 'no // comment'; // one",
    ['const b = `no $', '{`/* nested */`} // comment`;'].join(''),
    'const c = /[/*]"/; /* two */',
    '// three',
    '// goes on',
  ].join('\n');
  expect(commentsOf(text).map((comment) => comment.text)).toEqual(['one', 'two', 'three goes on']);
});

test('packages and documents that are done have none of the idioms', () => {
  const inComments = comments
    .filter((comment) => record.done.includes(comment.package))
    .map(({ where, text }) => [where, text.replace(/`[^`]*`/g, '')] as const);
  const inDocuments = record.done
    .filter((name) => name.endsWith('.md'))
    .flatMap((path) =>
      readFileSync(join(ROOT, path), 'utf8')
        .replace(/```[\s\S]*?```/g, (code) => code.replace(/[^\n]/g, ''))
        .split('\n')
        .map((line, index) => [`${path}:${index + 1}`, line.replace(/`[^`]*`/g, '')] as const),
    );
  const wrong = [...inComments, ...inDocuments].flatMap(([where, text]) =>
    IDIOMS.flatMap(([pattern, instead]) => {
      const match = pattern.exec(text);
      return match === null ? [] : [`${where}: "${match[0]}"; say ${instead}`];
    }),
  );
  expect(wrong).toEqual([]);
});

test('commit subjects have 72 characters at most', () => {
  let subjects: string[];
  try {
    const log = ['log', '--format=%s', `${record.subjectsSince}..HEAD`];
    subjects = execFileSync('git', log, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }).split('\n');
  } catch {
    // A shallow clone or an archive has no history.
    return;
  }
  expect(subjects.filter((subject) => subject.length > 72)).toEqual([]);
});
