import { resolve } from 'node:path';
import {
  describeIssue,
  type ExecPayload,
  InputError,
  type JobInput,
  type Millis,
  parseWith,
  present,
  quoted,
  shellWord,
} from '@goshawk/core';
import { z } from 'zod';
import { paramAxes } from './params.js';
import { checkPlaceholders, filledIn, IN_PATH } from './placeholders.js';
import { combined, type ParamAxis, type Share } from './shares.js';
import type { Sources } from './tasks.js';

const files = z.array(z.string().min(1)).default([]);
const values = z.union([z.string(), z.number(), z.boolean()]);

/** A stage that runs a command per combination of the parameters that its command and its outputs name. */
const stageSchema = z.strictObject({
  name: z.string(),
  run: z.string().min(1),
  inputs: files,
  outputs: files,
  after: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).optional(),
  image: z.string().optional(),
  // A job's stages have these, too, and are validated later.
  demand: z.unknown().optional(),
  require: z.unknown().optional(),
  gang: z.unknown().optional(),
  lend: z.unknown().optional(),
  estimate: z.unknown().optional(),
});
const pipelineSchema = z.looseObject({
  params: z.union([z.string(), z.record(z.string(), z.union([values, z.array(values).min(1)]))]).default({}),
  stages: z.array(stageSchema).min(1),
});

type Stage = z.infer<typeof stageSchema>;
type StageInput = NonNullable<JobInput['stages']>[number];

/** Whether a job file is a pipeline: one whose stages have a line `run` instead of `tasks`. */
export function isPipeline(job: unknown): boolean {
  const { stages } = (job ?? {}) as { readonly stages?: unknown };
  return Array.isArray(stages) && stages.some((stage) => Object.hasOwn(Object(stage), 'run'));
}

interface Task {
  readonly stage: Stage;
  readonly payload: ExecPayload;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Why it runs; undefined: it is up to date. */
  reason?: string | undefined;
}

/**
 * Converts a pipeline to a job of the tasks whose outputs are missing, incomplete, or older than their inputs. Reports each
 * stage that is left out or runs in part.
 *
 * @param folder for relative paths; workers must see it as well
 * @returns the job, without stages if everything is up to date
 * @throws InputError for an invalid pipeline
 */
export async function pipelineJob(
  content: unknown,
  source: string,
  folder: string,
  sources: Sources,
): Promise<Omit<JobInput, 'tasks'>> {
  const parsed = parseWith(pipelineSchema, content);
  if (!parsed.success) throw bad(source, describeIssue(parsed.error));
  const { params, stages, ...job } = parsed.data;
  const axes = await axesOf(params, sources);
  const tasks = new Map(stages.map((stage) => [stage, tasksOf(stage, axes, source)]));
  checkUsed(axes, [...tasks.values()].flat(), stages, source);
  const producers = producersOf([...tasks.values()].flat(), source);
  const ordered = inOrder(stages, tasks, producers, source);
  const modified = times(folder, sources);
  for (const stage of ordered)
    for (const task of tasks.get(stage)!) task.reason = reasonOf(task, producers, modified, source);
  const left = ordered.filter((stage) => tasks.get(stage)!.some(({ reason }) => reason !== undefined));
  for (const stage of ordered) sources.note?.(stageText(stage, tasks.get(stage)!));
  const isLeft = new Set(left.map(({ name }) => name));
  return {
    ...job,
    stages: left.map(({ run: _run, env: _env, image: _image, inputs: _in, outputs: _out, ...stage }) => {
      const own = tasks.get(left.find(({ name }) => name === stage.name)!)!;
      const running = own.filter(({ reason }) => reason !== undefined);
      const before = running.flatMap((task) => task.inputs.map((file) => producers.get(file)?.stage.name));
      const after = [...new Set([...stage.after, ...before])].filter((name) => name && isLeft.has(name));
      return { ...present(stage), after, tasks: running.map(({ payload }) => payload) } as StageInput;
    }),
  } as Omit<JobInput, 'tasks'>;
}

function axesOf(params: z.infer<typeof pipelineSchema>['params'], sources: Sources): Promise<ParamAxis[]> {
  const texts =
    typeof params === 'string'
      ? [params]
      : Object.entries(params).map(([name, value]) => {
          const comma = Array.isArray(value) && value.find((each) => `${each}`.includes(','));
          if (comma)
            throw new InputError('bad-job', `params.${name}: the value ${quoted(`${comma}`)} has a comma`);
          return `${name}=${[value].flat().join(',')}`;
        });
  return paramAxes(texts, (path, what) => sources.read(path, what));
}

/** Returns the axes with a name that a text has in braces. */
function namesIn(texts: readonly string[], axes: readonly ParamAxis[]): ParamAxis[] {
  return axes.filter(({ names }) => names.some((name) => texts.some((text) => text.includes(`{${name}}`))));
}

const NONE: Share = { where: 'the stage', text: undefined, columns: [], named: {}, input: undefined };

function tasksOf(stage: Stage, axes: readonly ParamAxis[], source: string): Task[] {
  const { run, env = {}, image, inputs, outputs } = stage;
  const own = namesIn([run, ...outputs, ...Object.values(env), image ?? ''], axes);
  const shares = combined([NONE], own)!;
  const others = axes.filter((axis) => !own.includes(axis));
  const place = (what: string): string => `${what} of stage ${stage.name}`;
  const templates = [
    { text: run, place: place('"run"') },
    ...outputs.map((text) => ({ text, place: place('"outputs"') })),
    ...inputs.map((text) => ({ text, place: place('"inputs"') })),
    ...Object.values(env).map((text) => ({ text, place: place('"env"') })),
  ];
  const all = Object.fromEntries(
    axes.flatMap(({ names, rows }) => names.map((name) => [name, rows[0]![name]!])),
  );
  checkPlaceholders(templates, { ...NONE, named: { ...all, inputs: '', outputs: '' } }, []);
  return shares.map((share) => {
    const filled = (text: string): string => filledIn(text, share, IN_PATH);
    const read = inputs.flatMap((text) =>
      combined([share], namesIn([text], others))!.map((each) => filledIn(text, each, IN_PATH)),
    );
    const written = outputs.map(filled);
    if (new Set(written).size < written.length)
      throw bad(source, `stage ${stage.name} names an output twice`);
    const list = (paths: readonly string[]): string => paths.map(shellWord).join(' ');
    const words = Object.entries(share.named).map(([name, value]) => [name, shellWord(value)]);
    const named = { ...Object.fromEntries(words), inputs: list(read), outputs: list(written) };
    const line = filledIn(run, { ...share, named });
    const variables = Object.entries(env).map(([name, value]) => [name, filledIn(value, share)]);
    return {
      stage,
      inputs: read,
      outputs: written,
      payload: {
        ...(written.length === 0
          ? { exec: [line], shell: true }
          : { exec: ['/bin/sh', '-c', WITH_OUTPUTS, line, ...written] }),
        ...(variables.length > 0 ? { env: Object.fromEntries(variables) } : {}),
        ...(image === undefined ? {} : { image: filledIn(image, share) }),
        ...(own.length > 0 ? { params: share.named } : {}),
      } as ExecPayload,
    };
  });
}

/** Marks the first output of a task that has not completed, because a killed command may leave a part of a file. */
const INCOMPLETE = '.incomplete';

/** Runs the line `$0`, and fails unless it writes all files `$1` …; creates their folders. */
const WITH_OUTPUTS = `for f; do mkdir -p -- "$(dirname -- "$f")" || exit; done
: > "$1${INCOMPLETE}" && sh -c "$0" || exit
for f; do [ -e "$f" ] || { echo "goshawk: the command did not write $f" >&2; exit 1; }; done
rm -- "$1${INCOMPLETE}"`;

/** @throws InputError if a parameter is in no text */
function checkUsed(
  axes: readonly ParamAxis[],
  tasks: readonly Task[],
  stages: readonly Stage[],
  source: string,
) {
  const used = stages.flatMap(({ run, inputs, outputs, env = {}, image = '' }) =>
    namesIn([run, image, ...inputs, ...outputs, ...Object.values(env)], axes),
  );
  const unused = axes.find((axis) => !used.includes(axis));
  if (unused !== undefined && tasks.length > 0)
    throw bad(source, `params: no stage contains {${unused.names[0]}}`, 'remove it, or use it in a command');
}

/** Returns the task that writes each file. */
function producersOf(tasks: readonly Task[], source: string): ReadonlyMap<string, Task> {
  const producers = new Map<string, Task>();
  for (const task of tasks)
    for (const file of task.outputs) {
      const other = producers.get(file);
      if (other !== undefined)
        throw bad(
          source,
          `${file} is an output of two tasks, of stage ${other.stage.name} and stage ${task.stage.name}`,
          'write a parameter of the stage, such as {seed}, into the path',
        );
      producers.set(file, task);
    }
  return producers;
}

/** Returns the stages so that each follows those that it needs. */
function inOrder(
  stages: readonly Stage[],
  tasks: ReadonlyMap<Stage, readonly Task[]>,
  producers: ReadonlyMap<string, Task>,
  source: string,
): Stage[] {
  const byName = new Map(stages.map((stage) => [stage.name, stage]));
  if (byName.size < stages.length) throw bad(source, 'two stages have the same name');
  const ordered: Stage[] = [];
  const visit = (stage: Stage, path: readonly Stage[]): void => {
    if (ordered.includes(stage)) return;
    if (path.includes(stage))
      throw bad(source, `stages need each other: ${[...path, stage].map(({ name }) => name).join(', ')}`);
    const files = tasks.get(stage)!.flatMap(({ inputs }) => inputs);
    const needed = new Set(files.flatMap((file) => producers.get(file)?.stage ?? []));
    for (const name of stage.after) {
      const before = byName.get(name);
      if (before === undefined) throw bad(source, `stage ${stage.name}: there is no stage ${quoted(name)}`);
      needed.add(before);
    }
    for (const before of needed) visit(before, [...path, stage]);
    ordered.push(stage);
  };
  for (const stage of stages) visit(stage, []);
  return ordered;
}

/** Returns a function that reads the modification time of a file once. */
function times(folder: string, sources: Sources): (file: string) => Millis | undefined {
  const known = new Map<string, Millis | undefined>();
  return (file) => {
    if (!known.has(file)) known.set(file, sources.modifiedMs(resolve(folder, file)));
    return known.get(file);
  };
}

/** Returns why a task runs; undefined: it is up to date. */
function reasonOf(
  { stage, inputs, outputs }: Task,
  producers: ReadonlyMap<string, Task>,
  modified: (file: string) => Millis | undefined,
  source: string,
): string | undefined {
  for (const file of inputs) {
    const producer = producers.get(file);
    if (producer?.reason !== undefined) return `stage ${producer.stage.name} writes ${file}`;
    if (modified(file) === undefined)
      throw bad(
        source,
        `stage ${stage.name}: its input ${file} does not exist`,
        'no stage has it in "outputs"; paths are relative to the current folder, or to --cwd',
      );
  }
  if (outputs.length === 0) return 'it has no outputs';
  const missing = outputs.find((file) => modified(file) === undefined);
  if (missing !== undefined) return `${missing} does not exist`;
  if (modified(outputs[0]! + INCOMPLETE) !== undefined) return `${outputs[0]} is incomplete`;
  for (const output of outputs)
    for (const input of inputs)
      if (modified(output)! < modified(input)!) return `${input} is newer than ${output}`;
  return undefined;
}

function stageText({ name, inputs }: Stage, tasks: readonly Task[]): string {
  const running = tasks.filter(({ reason }) => reason !== undefined);
  if (running.length === 0)
    return `${name}: skipped, ${inputs.length === 0 ? 'its outputs exist' : 'its outputs are newer than its inputs'}`;
  const some = running.length < tasks.length ? `${running.length} of ${tasks.length}` : `${running.length}`;
  const other = running.length > 1 ? ', and so on' : '';
  return `${name}: ${some} ${tasks.length === 1 ? 'task runs' : 'tasks run'}: ${running[0]!.reason}${other}`;
}

function bad(source: string, problem: string, hint = ''): InputError {
  return new InputError('bad-job', `${source}: ${problem}`, hint);
}
