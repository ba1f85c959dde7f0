"""Code shared by the Python peers: runs tasks and plays plans (see play.mjs)."""
import asyncio
import subprocess
import sys
import time


def perform(sleep_ms, program):
    if sleep_ms > 0:
        time.sleep(sleep_ms / 1000)
    if program != "-":
        subprocess.run([program], check=True)


async def play(run, line):
    tasks, is_one_at_a_time, sleep_ms, program, *arrivals = line.split()
    work = (int(tasks), float(sleep_ms), program)
    arrivals = [float(at) for at in arrivals]
    begun = time.perf_counter()

    def since_ms():
        return (time.perf_counter() - begun) * 1000

    async def one(at):
        if at > since_ms():
            await asyncio.sleep((at - since_ms()) / 1000)
        await run(*work)
        return since_ms() - at

    if is_one_at_a_time == "1":
        each = [await one(since_ms()) for _ in arrivals]
    else:
        each = await asyncio.gather(*[one(at) for at in arrivals])
    return " ".join(f"{ms:.3f}" for ms in [since_ms(), *each])


async def serve(run):
    """Plays the plan on each line of stdin with `run(tasks, sleep_ms, program)`, which returns when all tasks have ended."""
    loop = asyncio.get_running_loop()
    print("ready", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(await play(run, line), flush=True)
