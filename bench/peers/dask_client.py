"""The Dask client."""
import asyncio
import sys

from distributed import Client, wait

from play import perform, serve


async def main():
    async with Client(sys.argv[1], asynchronous=True) as client:
        await client.wait_for_workers(int(sys.argv[2]))

        async def run(tasks, sleep_ms, program):
            await wait(client.map(perform, [sleep_ms] * tasks, [program] * tasks, pure=False))

        await serve(run)


asyncio.run(main())
