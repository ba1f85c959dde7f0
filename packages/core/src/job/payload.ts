import { z } from 'zod';
import { LIMITS } from '../limits.js';

const argument = () =>
  z
    .string()
    .max(LIMITS.argumentLengthMax)
    .refine((text) => !text.includes('\0'), 'a NUL byte cannot be passed to a process');
const environment = () =>
  z
    .record(z.string(), argument())
    .refine(
      (given) => Object.keys(given).length <= LIMITS.environmentMax,
      `at most ${LIMITS.environmentMax} variables`,
    )
    .refine(
      (given) => Object.keys(given).every(namesVariable),
      `a variable has a name of 1 to ${LIMITS.nameLengthMax} characters, without "=" and NUL`,
    );

function namesVariable(name: string): boolean {
  return name.length > 0 && name.length <= LIMITS.nameLengthMax && !/[=\0]/.test(name);
}

/** Over any memory, as Node's own buffers are; `z.instanceof` would want an ArrayBuffer below. */
const bytes = () => z.custom<Uint8Array>((value) => value instanceof Uint8Array, 'expected text or bytes');

/** Sleep for so many milliseconds: the workload of replays. */
const sleepPayload = () => z.strictObject({ sleep: z.number().nonnegative().max(LIMITS.durationMaxMs) });

/** Run a command: an argument vector, no shell unless asked for. */
const execPayload = () =>
  z.strictObject({
    exec: z.array(argument()).min(1).max(LIMITS.argumentsMax),
    /** The first element of `exec` is a line for `/bin/sh -c`. */
    shell: z.boolean().optional(),
    env: environment().optional(),
    cwd: argument().min(1).optional(),
    /** Given to the process byte for byte. */
    stdin: z.union([z.string(), bytes()]).optional(),
  });

/** Call an exported function of an ES module with a JSON-like input; its result is the task's value. */
const modulePayload = () =>
  z.strictObject({
    module: argument().min(1),
    export: z.string().min(1).max(LIMITS.nameLengthMax).optional(),
    input: z.unknown().optional(),
    /** What a relative path is relative to. */
    cwd: argument().min(1).optional(),
  });

export const payloadSchema = z.lazy(() => {
  const kinds = [sleepPayload(), execPayload(), modulePayload()] as const;
  const fields = new Set(kinds.flatMap(({ shape }) => Object.keys(shape)));
  return z.union(kinds, { error: ({ input }) => describeNoPayload(input, fields) });
});

/** What a task does. Machines carry it and never look inside. */
export type Payload = z.infer<typeof payloadSchema>;
export type SleepPayload = z.infer<ReturnType<typeof sleepPayload>>;
export type ExecPayload = z.infer<ReturnType<typeof execPayload>>;
export type ModulePayload = z.infer<ReturnType<typeof modulePayload>>;

/** For what is none of the three, so that no single one of them can say what is missing. */
function describeNoPayload(input: unknown, known: ReadonlySet<string>): string {
  const kinds = 'a task is one of {"sleep": ms}, {"exec": [command, …]}, {"module": path}';
  const fields = typeof input === 'object' && input !== null ? Object.keys(input) : [];
  const unknown = fields.find((field) => !known.has(field));
  return unknown === undefined ? kinds : `unknown field ${JSON.stringify(unknown)}; ${kinds}`;
}
