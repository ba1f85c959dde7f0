/**
 * Every limit of the executors, in one place. Those that a worker's settings may change are the
 * defaults of `ExecutorOptions`; the others follow from how the system works and are explained here.
 */

import { totalmem } from 'node:os';

/** Between SIGTERM and SIGKILL, when a run is killed. */
export const GRACE_MS = 2_000;

/** Bytes of JSON that the value of a module task may take. */
export const VALUE_BYTES_MAX = 1024 * 1024;

/** Old-space heap of one module thread; a module that needs more fails, and its thread with it. */
export const MODULE_HEAP_MIB_MAX = 1_024;
/** No module does anything in less. */
const MODULE_HEAP_MIB_MIN = 32;
/** Memory reserved for the worker itself. */
export const WORKER_BYTES = 128 * 1024 * 1024;

/**
 * One module is not to end its worker, whatever it does: it may have half of what the worker leaves. What several may have
 * together can be more than there is.
 *
 * @param allowedBytes of the worker's process: of its container, or of its machine
 */
export function moduleHeapMiB(allowedBytes: number): number {
  const half = Math.floor((allowedBytes - WORKER_BYTES) / 2 / (1024 * 1024));
  return Math.min(MODULE_HEAP_MIB_MAX, Math.max(MODULE_HEAP_MIB_MIN, half));
}

/** Memory that this process may use: that of the machine, or the limit of its container. */
export function allowedBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** Interval between checks of modules' memory outside of their heaps. */
export const MEMORY_LOOK_MS = 50;
/** A thread that was ended for its memory gives it back within this; no other is ended for it meanwhile. */
export const MEMORY_CALM_MS = 1_000;
/** Fraction of the process's memory above which a running module is ended, before the system kills the process. */
export const MEMORY_SHARE_MAX = 0.85;

/** An idle module thread is ended after this time; starting one takes some 40 ms. */
export const MODULE_THREAD_IDLE_MS = 30_000;

/** Modules, and versions of them, that a thread may have loaded: Node forgets none, and they are of its heap. */
export const MODULE_THREAD_LOADS_MAX = 256;

/**
 * Threads that are to end and have not, since they are in native calls, beyond as many as run: each takes some MiB, and
 * nothing ends it.
 */
export const STUCK_THREADS_MAX = 32;

/** Nesting of a module's value. Recursive encoders further on would overflow their stack far deeper. */
export const VALUE_DEPTH_MAX = 500;

/** Characters of a thrown error's message that are kept. */
export const ERROR_MESSAGE_LENGTH_MAX = 2_000;

/**
 * Starts that the spawner has not answered. Enough to keep it busy (1 ms a spawn), few enough to keep it small: the time of
 * a fork grows with the memory of the process.
 */
export const UNANSWERED_STARTS_MAX = 32;

/** Bytes waiting to be read by the worker above which the spawner stops reading tasks' output. */
export const LINK_QUEUED_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Bytes read from a pipe after the end of its process. The pipe's buffer holds 208 KiB by default on Linux; further bytes
 * come from other processes that hold the pipe.
 */
export const BYTES_AFTER_EXIT_MAX = 1024 * 1024;

/** How often a killed group whose leader has ended is looked at, until it is empty or its grace is over. */
export const GROUP_POLL_MS = 10;

/**
 * How long closing waits, beyond the grace, for runs that were killed, and then for the spawner. Longer
 * only takes what the kernel cannot kill (a process in an uninterruptible wait), a stopped spawner, or a
 * module's thread in a native call.
 */
export const CLOSE_MARGIN_MS = 1_000;

/** How long the ending of leftovers waits for the kernel to be done with what it killed. */
export const LEFTOVERS_WAIT_MS = 1_000;
