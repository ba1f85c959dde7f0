{
  "am.type" : "mapreduce",
  "job.start.ms" : 0,
  "job.end.ms" : 95375,
  "job.queue.name" : "sls_queue_1",
  "job.id" : "job_1",
  "job.user" : "default",
  "job.tasks" : [
    {"container.host" : "/default-rack/node1", "container.start.ms" : 6664, "container.end.ms" : 23707, "container.priority" : 20, "container.type" : "map"},
    {"container.host" : "/default-rack/node3", "container.start.ms" : 6665, "container.end.ms" : 21593, "container.priority" : 20, "container.type" : "map"},
    {"container.host" : "/default-rack/node2", "container.start.ms" : 24000, "container.end.ms" : 30000, "container.priority" : 10, "container.type" : "reduce", "container.memory": 2048, "container.vcores": 2}
  ]
}
{
  "am.type" : "mapreduce", "job.start.ms" : 1500, "job.id" : "job_2", "job.user" : "ann",
  "job.tasks" : [{"count": 5, "duration.ms": 2000, "container.memory": 1024}]
}
