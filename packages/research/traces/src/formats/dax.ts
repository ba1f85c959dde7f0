import { quote, WorkloadError } from '../errors.js';
import { type PackedJobs, packed } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { decimal, isSeconds, SECONDS_ADVICE } from './fields.js';
import { readDocument } from './files.js';
import type { TraceFormat } from './trace-format.js';
import { checkTasks, jobOfWorkflow, type WorkflowTask } from './workflow.js';

/** A Pegasus workflow in XML (DAX 2 and 3): one job, with a stage per task. */
export const dax = {
  name: 'dax',
  sample: 'diamond.dax',
  aJob: 'expected <adag> with <job id="…" runtime="…"/>',
  endings: ['.dax', '.xml'],
  recognises: (_, head) => /^\s*</.test(head) && /<adag[\s>]/.test(head),
  read: readDax,
} as const satisfies TraceFormat;

/** Workflows nest four tags. */
const DEPTH_MAX = 100;

interface Tag {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly at: number;
  readonly kind: 'open' | 'close' | 'empty';
}

/** @throws WorkloadError with file and line of the first error */
async function* readDax(file: string, tally = new Tally(), signal?: AbortSignal): AsyncGenerator<PackedJobs> {
  const text = await readDocument(file, signal);
  const fault = (at: number, problem: string, advice: string): WorkloadError =>
    new WorkloadError(problem, advice, { file, line: text.slice(0, at).split('\n').length });
  const tasks = new Map<string, WorkflowTask & { readonly parents: string[] }>();
  let name: string | undefined;
  let child: string | undefined;
  for (const { name: tag, attributes, at, kind } of tagsOf(text, fault)) {
    const attribute = (key: string): string => {
      const value = attributes[key];
      if (value !== undefined && value !== '') return value;
      throw fault(at, `<${tag}> has no ${key}`, `write <${tag} ${key}="…">`);
    };
    if (kind === 'close') {
      if (tag === 'child') child = undefined;
    } else if (tag === 'adag') {
      name = attributes.name?.slice(0, 256) || undefined;
    } else if (tag === 'job') {
      const id = attribute('id');
      const seconds = decimal(attribute('runtime'));
      if (!isSeconds(seconds))
        throw fault(at, `the runtime of job ${quote(id)} is ${quote(attributes.runtime!)}`, SECONDS_ADVICE);
      if (tasks.has(id)) throw fault(at, `two jobs have the id ${quote(id)}`, 'each needs a unique id');
      const durationsSeconds = Float64Array.of(seconds);
      checkTasks(tasks.size + 1, (problem, advice) => fault(at, problem, advice));
      tasks.set(id, { name: id, parents: [], children: [], path: [at], durationsSeconds });
    } else if (tag === 'child') {
      child = attribute('ref');
    } else if (tag === 'parent' && child !== undefined) {
      const own = tasks.get(child);
      if (own === undefined)
        throw fault(at, `unknown job ${quote(child)}`, 'each child must be a job of the workflow');
      own.parents.push(attribute('ref'));
    } else if (child !== undefined) {
      throw fault(at, `a child contains <${tag}>`, 'it may contain only <parent ref="…"/>');
    }
  }
  const source = {
    fault: ([at = 0]: readonly (string | number)[], problem: string, advice: string) =>
      fault(Number(at), problem, advice),
  };
  yield packed([jobOfWorkflow([...tasks.values()], name === undefined ? {} : { name }, source, tally)]);
}

const MARKUP =
  /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[[\s\S]*?\]\]>|<![^>]*>|<(\/?)([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*')){0,100})\s*(\/?)>|</g;
const ATTRIBUTE = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Yields tags in order and checks that they are balanced. */
function* tagsOf(
  text: string,
  fault: (at: number, problem: string, advice: string) => WorkloadError,
): Generator<Tag> {
  const open: string[] = [];
  let end = 0;
  for (const match of text.matchAll(MARKUP)) {
    const [whole, slash, name, attributes = '', empty] = match;
    const at = match.index;
    if (!holdsText(open.at(-1))) checkBlank(text, end, at, fault);
    end = at + whole.length;
    if (whole === '<')
      throw fault(
        at,
        `not XML: ${quote(text.slice(at, at + 40).split('\n', 1)[0]!)}`,
        'copy or export the file again',
      );
    if (name === undefined) continue;
    if (slash === '/') {
      const expected = open.pop();
      if (expected !== name)
        throw fault(
          at,
          `</${name}> closes ${expected === undefined ? 'nothing' : `<${expected}>`}`,
          'close each tag with its name',
        );
    } else if (empty !== '/' && open.push(name) > DEPTH_MAX)
      throw fault(at, `tags are nested more than ${DEPTH_MAX} deep`, 'check the file');
    yield {
      name,
      at,
      kind: slash === '/' ? 'close' : empty === '/' ? 'empty' : 'open',
      attributes: Object.fromEntries(
        [...attributes.matchAll(ATTRIBUTE)].map(([, key, double, single]) => [
          key!,
          (double ?? single ?? '').replace(/&(\w+);/g, (entity, known: string) => ENTITIES[known] ?? entity),
        ]),
      ),
    };
  }
  checkBlank(text, end, text.length, fault);
  if (open.length > 0)
    throw fault(text.length, `<${open.at(-1)}> is not closed: the file ends too early`, 'copy it again');
}

/** Whether an element may contain text, as `<argument>` and `<profile>` do. */
function holdsText(name: string | undefined): boolean {
  return name !== undefined && !['adag', 'job', 'child'].includes(name);
}

/** @throws WorkloadError if there is text between two tags, or after the last one */
function checkBlank(
  text: string,
  from: number,
  to: number,
  fault: (at: number, problem: string, advice: string) => WorkloadError,
): void {
  const between = text.slice(from, to);
  const blanks = between.length - between.trimStart().length;
  if (blanks < between.length)
    throw fault(
      from + blanks,
      `unexpected text ${quote(between.trim().split('\n', 1)[0]!)}`,
      'remove it: workflows, jobs and children contain only tags',
    );
}
