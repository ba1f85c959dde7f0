/* A worker and a client with Gearman's C library: `worker PORT SLOTS`, and `client PORT`, which plays plans (see play.mjs). */
#define _GNU_SOURCE
#include <libgearman/gearman.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* The maximum number of jobs that a client waits for at once; the library waits for one per connection. */
#define CONNECTIONS 64
#define LINE (1 << 20)

static in_port_t port;

static double now_ms(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1e3 + at.tv_nsec / 1e6;
}

static void pause_ms(double ms) {
  if (ms > 0) usleep((useconds_t)(ms * 1e3));
}

static void require(gearman_return_t result, const char *error) {
  if (gearman_success(result)) return;
  fprintf(stderr, "gearman: %s\n", error);
  exit(1);
}

static gearman_return_t perform(gearman_job_st *job, void *context) {
  char payload[256] = "", program[256] = "-";
  double sleep_ms = 0;
  (void)context;
  memcpy(payload, gearman_job_workload(job), gearman_job_workload_size(job));
  sscanf(payload, "%lf %255s", &sleep_ms, program);
  pause_ms(sleep_ms);
  if (strcmp(program, "-") != 0) {
    char *argv[] = {program, NULL};
    pid_t child;
    if (posix_spawn(&child, program, NULL, NULL, argv, environ) != 0) return GEARMAN_ERROR;
    waitpid(child, NULL, 0);
  }
  return GEARMAN_SUCCESS;
}

static void *slot(void *unused) {
  gearman_worker_st *worker = gearman_worker_create(NULL);
  (void)unused;
  gearman_worker_add_server(worker, "127.0.0.1", port);
  require(gearman_worker_define_function(worker, "task", 4, gearman_function_create(perform), 0, NULL),
          gearman_worker_error(worker));
  for (;;) require(gearman_worker_work(worker), gearman_worker_error(worker));
  return NULL;
}

static struct {
  int tasks, jobs, next;
  char payload[300];
  int is_one_at_a_time;
  double begun, *arrivals, *each;
} plan;

static void *play(void *connection) {
  gearman_client_st *client = connection;
  for (;;) {
    int job = __atomic_fetch_add(&plan.next, 1, __ATOMIC_RELAXED);
    if (job >= plan.jobs) return NULL;
    if (plan.is_one_at_a_time) plan.arrivals[job] = now_ms() - plan.begun;
    pause_ms(plan.begun + plan.arrivals[job] - now_ms());
    for (int task = 0; task < plan.tasks; task++) {
      gearman_return_t result;
      gearman_client_add_task(client, NULL, NULL, "task", NULL, plan.payload, strlen(plan.payload), &result);
      require(result, gearman_client_error(client));
    }
    require(gearman_client_run_tasks(client), gearman_client_error(client));
    gearman_client_task_free_all(client);
    plan.each[job] = now_ms() - plan.begun - plan.arrivals[job];
  }
}

static int serve(void) {
  static char line[LINE];
  static double arrivals[LINE / 2], each[LINE / 2];
  gearman_client_st *clients[CONNECTIONS];
  for (int i = 0; i < CONNECTIONS; i++) {
    clients[i] = gearman_client_create(NULL);
    gearman_client_add_server(clients[i], "127.0.0.1", port);
  }
  plan.arrivals = arrivals;
  plan.each = each;
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    pthread_t threads[CONNECTIONS];
    char program[256];
    double sleep_ms;
    int length, read;
    sscanf(line, "%d %d %lf %255s%n", &plan.tasks, &plan.is_one_at_a_time, &sleep_ms, program, &length);
    snprintf(plan.payload, sizeof plan.payload, "%g %s", sleep_ms, program);
    for (plan.jobs = 0; sscanf(line + length, "%lf%n", &arrivals[plan.jobs], &read) == 1; plan.jobs++)
      length += read;
    plan.next = 0;
    plan.begun = now_ms();
    int width = plan.is_one_at_a_time ? 1 : CONNECTIONS;
    for (int i = 0; i < width; i++) pthread_create(&threads[i], NULL, play, clients[i]);
    for (int i = 0; i < width; i++) pthread_join(threads[i], NULL);
    printf("%.3f", now_ms() - plan.begun);
    for (int job = 0; job < plan.jobs; job++) printf(" %.3f", each[job]);
    puts("");
    fflush(stdout);
  }
  return 0;
}

int main(int argc, char **argv) {
  port = (in_port_t)atoi(argv[2]);
  if (argc == 3) return serve();
  pthread_t threads[64];
  int slots = atoi(argv[3]);
  for (int i = 0; i < slots; i++) pthread_create(&threads[i], NULL, slot, NULL);
  for (int i = 0; i < slots; i++) pthread_join(threads[i], NULL);
  return 0;
}
