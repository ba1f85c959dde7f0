import { z } from 'zod';
import { boundedList, boundedRecord } from '../bounded.js';
import type { InputError } from '../errors.js';
import { LIMITS } from '../limits.js';
import { parseDuration } from '../text/durations.js';
import { nameProblem, textProblem, utf8Bytes, wellFormedProblem } from '../text/utf8.js';

/** Text that can be passed on unchanged. @param problemOf explains why a text cannot */
export const passable = (problemOf: (text: string) => string | undefined) =>
  z.string().superRefine((text, context) => {
    const message = problemOf(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

/** An argument or a path: any text without NUL bytes and lone surrogates. */
const passableText = () => passable(textProblem);

/** The system limits the bytes, not the characters, of a text passed to a process. */
const fits = (text: string) =>
  text.length * 3 <= LIMITS.argumentBytesMax || utf8Bytes(text) <= LIMITS.argumentBytesMax;
const TOO_LONG = `longer than the ${LIMITS.argumentBytesMax} bytes that the system passes to a process: use stdin or a file`;

const argument = () => passableText().max(LIMITS.argumentLengthMax).refine(fits, TOO_LONG);
const environment = () =>
  boundedRecord(z.string(), argument(), [LIMITS.environmentMax, 'variables'])
    .refine(
      (given) => Object.keys(given).every(namesVariable),
      `a variable has a name of 1 to ${LIMITS.nameLengthMax} characters, without "=" and NUL`,
    )
    .superRefine((given, context) => {
      const long = Object.entries(given).find(([name, value]) => !fits(`${name}=${value}`));
      if (long === undefined) return;
      context.addIssue({ code: 'custom', path: [long[0]], message: `with its name ${TOO_LONG}` });
    });

function namesVariable(name: string): boolean {
  return (
    name.length > 0 &&
    name.length <= LIMITS.nameLengthMax &&
    !name.includes('=') &&
    textProblem(name) === undefined
  );
}

/** Accepts any memory, such as Node's buffers; `z.instanceof` requires an ArrayBuffer. */
const bytes = () => z.custom<Uint8Array>((value) => value instanceof Uint8Array, 'expected text or bytes');

/**
 * A number, or text with a unit, which is converted to a number.
 *
 * @param what prefix of the error messages of `parse`, removed here because the path already names the field
 */
export function withUnit(
  what: string,
  { parse, max, example }: { parse: (text: string, what: string) => number; max: number; example: string },
) {
  const error = () => `expected a number from 0 to ${max}, or a text such as ${example}`;
  return z.union([z.number().nonnegative().max(max), z.string()], { error }).transform((given, context) => {
    if (typeof given === 'number') return given;
    try {
      return parse(given, what);
    } catch (error) {
      const { message, hint } = error as InputError;
      const line = hint === '' ? message : `${message}; ${hint}`;
      context.addIssue({ code: 'custom', message: line.replace(`${what}: `, '') });
      return z.NEVER;
    }
  });
}

/** Values by which tables of results name a task. They do not affect how it runs. */
const params = () =>
  boundedRecord(
    passable(nameProblem).min(1).max(LIMITS.nameLengthMax),
    z.union([passable(wellFormedProblem).max(LIMITS.argumentLengthMax), z.number(), z.boolean()], {
      error: () => 'expected a text, a number, true or false',
    }),
    [LIMITS.environmentMax, 'parameters'],
  )
    .optional()
    .describe(
      'parameters of the task by name, which `goshawk tasks --csv` and `goshawk results` show: {"rate": 0.1}',
    );

/** Placeholders in paths of output files for the job id, the task index and the attempt number. */
export const outputPlaceholders: readonly string[] = ['{job}', '{index}', '{attempt}'];

/** Unknown placeholders are rejected, so that a typo does not become a file name. */
const outputFile = () =>
  argument()
    .min(1)
    .max(LIMITS.pathLengthMax)
    .refine((path) => !path.endsWith('/'), 'the path of a file is expected, not of a folder')
    .superRefine((path, context) => {
      const other = path
        .match(/\{[^{}/]*\}/g)
        ?.find((placeholder) => !outputPlaceholders.includes(placeholder));
      if (other === undefined) return;
      context.addIssue({
        code: 'custom',
        message: `${other} is not one of ${outputPlaceholders.join(', ')}`,
      });
    });

/** Fills in the placeholders of an output file's path. */
export function outputPath(
  path: string,
  names: Readonly<Partial<Record<'job' | 'index' | 'attempt', string | number | undefined>>>,
): string {
  return path.replaceAll(/\{(job|index|attempt)\}/g, (_, name: keyof typeof names) => `${names[name] ?? ''}`);
}

/** Milliseconds, or text with a unit. */
export const DURATION = { parse: parseDuration, max: LIMITS.durationMaxMs, example: '"2s"' };

/** Sleeps for the given time; used to replay traces. */
const sleepPayload = () =>
  z.strictObject({
    sleep: withUnit('sleep', DURATION).describe(
      'sleep for this long: milliseconds, or text with a unit such as "1.5s"',
    ),
  });

/** Attribute of workers that run images; its value is the container engine. */
export const CONTAINER = 'container';
export const DOCKER = 'docker';

/** Name of an OCI image, with an optional registry, tag and digest. It never looks like an option of the engine. */
const IMAGE = /^[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$/;

/** Runs a command given as an argument vector, without a shell unless requested. */
const execPayload = () =>
  z
    .strictObject({
      exec: boundedList(argument())
        .min(1)
        .max(LIMITS.argumentsMax)
        .refine(([command]) => command !== '', 'the command, its first element, is empty')
        .describe('the command to run: its name and arguments, without a shell'),
      shell: z.boolean().optional().describe('the first element of `exec` is a line for `/bin/sh -c`'),
      env: environment()
        .optional()
        .describe(
          'environment variables of the command, in addition to `PATH`, `HOME`, `LANG` and a few others from the worker',
        ),
      cwd: argument().min(1).optional().describe('working folder; `submit` fills in its current folder'),
      image: z
        .string()
        .max(LIMITS.nameLengthMax)
        .regex(IMAGE, 'not the name of an image, such as "python:3.12-slim"')
        .optional()
        .describe(
          'the container image to run the command in, with the working folder mounted; only workers with Docker or Podman run it',
        ),
      stdin: z
        .union([passable(wellFormedProblem), bytes()], { error: () => 'expected text or bytes' })
        .optional()
        .describe('the bytes that the command reads from stdin'),
      stdout: outputFile()
        .optional()
        .describe(
          'a file on the worker that receives stdout instead of the log: relative to `cwd`, with {job}, {index} and {attempt} filled in',
        ),
      stderr: outputFile().optional().describe('the same for stderr; it may be the same file as `stdout`'),
      returns: z
        .boolean()
        .optional()
        .describe(
          'the value of the task is the JSON that the command writes to the file named by GOSHAWK_RESULT',
        ),
      warm: z
        .boolean()
        .optional()
        .describe(
          'the worker keeps the process for later tasks with the same command, folder, variables, user and demand; the command speaks the protocol of GOSHAWK_CALLS, as `python -m goshawk._worker` does',
        ),
      params: params(),
    })
    .refine(
      ({ warm, stdout, stderr }) => warm !== true || (stdout === undefined && stderr === undefined),
      'a warm command has no files for stdout and stderr',
    );

/** Calls an exported function of an ES module with a JSON-like input; its result is the task's value. */
const modulePayload = () =>
  z.strictObject({
    module: argument()
      .min(1)
      .describe('the ES module whose function is called; its return value is the value of the task'),
    export: passableText()
      .min(1)
      .max(LIMITS.nameLengthMax)
      .optional()
      .describe('the export to call; `default` unless given'),
    input: z
      .unknown()
      .refine(
        (input) => !hasLoneSurrogate(input),
        'half of a character (a lone surrogate) cannot be passed on',
      )
      .optional()
      .describe('the argument of the function'),
    cwd: argument().min(1).optional().describe('the folder that a relative module path starts from'),
    params: params(),
  });

/** Whether any string or key in a value contains a lone surrogate. */
function hasLoneSurrogate(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return wellFormedProblem(value) !== undefined;
  // The codec limits the depth and reports values beyond it.
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array || depth > DEPTH_CHECKED_MAX)
    return false;
  if (Array.isArray(value)) return value.some((each) => hasLoneSurrogate(each, depth + 1));
  return Object.entries(value).some(
    ([name, each]) => wellFormedProblem(name) !== undefined || hasLoneSurrogate(each, depth + 1),
  );
}

const DEPTH_CHECKED_MAX = 100;

export const payloadSchema = z.lazy(() => {
  const kinds = [sleepPayload(), execPayload(), modulePayload()] as const;
  const fields = new Set(kinds.flatMap(({ shape }) => Object.keys(shape)));
  return z.union(kinds, { error: ({ input }) => describeNoPayload(input, fields) });
});

let kindSchemas:
  | { sleep: z.ZodType<Payload>; exec: z.ZodType<Payload>; module: z.ZodType<Payload> }
  | undefined;

/** The schema of the kind of task that a field of the payload identifies; of all kinds if none does. */
export function payloadSchemaOf(payload: unknown): z.ZodType<Payload> {
  kindSchemas ??= { sleep: sleepPayload(), exec: execPayload(), module: modulePayload() };
  if (typeof payload !== 'object' || payload === null) return payloadSchema;
  if ('sleep' in payload) return kindSchemas.sleep;
  if ('exec' in payload) return kindSchemas.exec;
  return 'module' in payload ? kindSchemas.module : payloadSchema;
}

/** All fields of all kinds of tasks. */
export function payloadFields(): readonly string[] {
  return [sleepPayload(), execPayload(), modulePayload()].flatMap(({ shape }) => Object.keys(shape));
}

/** The work of a task; opaque to the machines. */
export type Payload = z.infer<typeof payloadSchema>;
export type SleepPayload = z.infer<ReturnType<typeof sleepPayload>>;
export type ExecPayload = z.infer<ReturnType<typeof execPayload>>;
export type ModulePayload = z.infer<ReturnType<typeof modulePayload>>;

export const TASK_KINDS = 'a task is one of {"sleep": ms}, {"exec": [command, …]}, {"module": path}';

/** Describes input that is none of the three kinds; a schema error would be unclear. */
function describeNoPayload(input: unknown, known: ReadonlySet<string>): string {
  const fields = typeof input === 'object' && input !== null ? Object.keys(input) : [];
  const unknown = fields.find((field) => !known.has(field));
  return unknown === undefined ? TASK_KINDS : `unknown field ${JSON.stringify(unknown)}; ${TASK_KINDS}`;
}
