/**
 * All limits of the executors. Those that a worker's settings may change are the defaults of `ExecutorOptions`; the
 * others follow from the system.
 */

/** Time between SIGTERM and SIGKILL when a run is killed. */
export const GRACE_MS = 2_000;

/** Maximum size of a module task's value as JSON, in bytes. */
export const VALUE_BYTES_MAX = 1024 * 1024;

/** Maximum size of a request for a large value. */
export const VALUE_REQUEST_BYTES_MAX = 4_096;
/** Connections of one process for large values. */
export const VALUE_CHANNELS_MAX = 4;
/** Part of a large value that the worker reads at once. */
export const VALUE_PART_BYTES = 1024 * 1024;
/** Disk space that large values leave free. */
export const VALUES_FREE_BYTES_MIN = 64 * 1024 * 1024;

/** Old-space heap of one module thread. A module that exceeds it fails, and its thread ends. */
export const MODULE_HEAP_MIB_MAX = 1_024;
/** Minimum useful heap. */
export const MODULE_HEAP_MIB_MIN = 32;
/** Memory reserved for the worker itself. */
export const WORKER_BYTES = 128 * 1024 * 1024;

/** Check interval for modules' memory outside of the heap. */
export const MEMORY_CHECK_MS = 50;
/** Time for a thread that was ended to release its memory, during which no other thread is ended. */
export const MEMORY_GRACE_MS = 1_000;
/** Fraction of the process's memory above which a running module is ended, before the system kills the process. */
export const MEMORY_SHARE_MAX = 0.85;

/** Minimum fraction of memory that is available while a task starts beside a paused one. */
export const LENDING_MEMORY_SHARE_MIN = 0.2;

/** Idle timeout of module threads; starting one takes about 40 ms. */
export const MODULE_THREAD_IDLE_MS = 30_000;

/** Time for a module thread to exit before it is terminated. */
export const THREAD_EXIT_MS = 500;

/**
 * Maximum number of modules, and versions of them, that a thread may load: Node never unloads a module, and each
 * occupies the heap.
 */
export const MODULE_THREAD_LOADS_MAX = 256;

/** Maximum number of threads that cannot be ended because they are in native calls. Each takes several MiB. */
export const STUCK_THREADS_MAX = 32;

/** Maximum nesting of a module's value. Recursive encoders downstream would overflow their stack only far deeper. */
export const VALUE_DEPTH_MAX = 500;

/** Maximum length of a thrown error's message. */
export const ERROR_MESSAGE_LENGTH_MAX = 2_000;

/**
 * Maximum number of starts in flight to the spawner. It keeps the spawner busy (1 ms per spawn) and small: the time
 * of a fork grows with the memory of the process.
 */
export const UNANSWERED_STARTS_MAX = 32;

/** Maximum number of spawners of a worker process. Each takes 9 MB and forks about 500 programs a second. */
export const SPAWNERS_MAX = 4;
/** Another spawner starts once all have had this many unanswered starts for this time. */
export const BUSY_STARTS_MIN = 4;
export const BUSY_MS = 200;

/** Maximum number of bytes queued for the worker. Above it, the spawner stops reading the output of tasks. */
export const LINK_QUEUED_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Maximum number of bytes read from a pipe after its process has ended. A pipe buffers 64 KiB by default on Linux, and
 * a socket 208 KiB; more bytes must be from other processes that keep the pipe open.
 */
export const BYTES_AFTER_EXIT_MAX = 1024 * 1024;

/** Poll interval of a killed group whose leader has ended, until the group is empty or the grace period is over. */
export const GROUP_POLL_MS = 10;

/**
 * Time that closing waits, beyond the grace period, for killed runs and then for the spawner. Only these take longer:
 * a process in an uninterruptible wait, a stopped spawner, or a module thread in a native call.
 */
export const CLOSE_MARGIN_MS = 1_000;

/** Time to wait for the kernel to reap killed leftovers. */
export const LEFTOVERS_WAIT_MS = 1_000;

/** Idle timeout of the processes of commands with `warm`, and their number per processor. Each keeps its memory. */
export const WARM_IDLE_MS = 60_000;
export const WARM_IDLE_MAX_PER_CPU = 4;
/** Time after which an idle process is stopped until its next call: threads and processes that a call left would use CPUs. */
export const WARM_PAUSE_MS = 1_000;

/** CPU time per second that an idle process may use until it is stopped at the end of each call: its interpreter tidies up. */
export const WARM_IDLE_CPU_MS = 50;

/** Time for a warm process to exit, for example to run its exit handlers, before it is killed. */
export const WARM_EXIT_MS = 1_000;

/** Maximum size of a message of a warm process, in bytes. */
export const WARM_ANSWER_BYTES_MAX = 1024 * 1024;

/** Soft limit of open files that Linux gives a login. */
export const LOGIN_OPEN_FILES = 1_024;
