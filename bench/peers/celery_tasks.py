"""Celery workers load this module; run as a script, it is the client."""
import asyncio
import itertools
import os
import time

import redis
import redis.asyncio
from celery import Celery, group

from play import perform, serve

url = os.environ["PEERS_REDIS"]
app = Celery("celery_tasks", broker=url)
# A slot fetches its next task when its last one has ended. By default it prefetches four, so tasks queue behind long
# ones.
app.conf.worker_prefetch_multiplier = 1
store = redis.Redis.from_url(url)


@app.task(name="task", ignore_result=True)
def task(job, sleep_ms, program):
    perform(sleep_ms, program)
    store.publish("ended", job)


async def main():
    workers = int(os.environ["PEERS_WORKERS"])
    while len(app.control.ping(timeout=0.5)) < workers:
        time.sleep(0.1)
    ends = redis.asyncio.Redis.from_url(url).pubsub(ignore_subscribe_messages=True)
    await ends.subscribe("ended")
    left = {}
    over = {}
    numbers = itertools.count()

    async def read():
        async for message in ends.listen():
            job = int(message["data"])
            left[job] -= 1
            if left[job] == 0:
                over[job].set_result(None)

    async def run(tasks, sleep_ms, program):
        job = next(numbers)
        left[job] = tasks
        over[job] = asyncio.get_running_loop().create_future()
        signature = task.s(job, sleep_ms, program)
        if tasks == 1:
            signature.apply_async()
        else:
            group([signature] * tasks).apply_async()
        await over[job]
        del left[job], over[job]

    reading = asyncio.create_task(read())
    await asyncio.wait([reading, asyncio.create_task(serve(run))], return_when=asyncio.FIRST_COMPLETED)


if __name__ == "__main__":
    asyncio.run(main())
