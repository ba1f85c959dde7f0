"""Reads public trace files without Goshawk and simulates strict FIFO on equal servers.

Usage: python3 scripts/public-traces.py FILE FORMAT SERVERS CPUS

Prints the run time of each job in seconds, one per line, in order of submission. Tasks wait in one queue in the order in
which they may start. The first task starts on the first server with enough free CPUs and blocks the rest until it fits.
Standard library only.
"""
import csv
import heapq
import json
import os
import re
import sys
import xml.etree.ElementTree as xml
from collections import deque
from datetime import datetime


def swf(path):
    """Yields (submit, stages); a stage is (durations, CPUs of a task, predecessors)."""
    for line in open(path):
        field = line.split()
        if not field or field[0].startswith(";"):
            continue
        # Partial executions, which the summary line of their job includes.
        if field[10] in ("2", "3", "4"):
            continue
        seconds, processors = float(field[3]), int(field[4])
        if processors <= 0:
            processors = int(field[7])
        if seconds > 0 and processors > 0:
            yield float(field[1]), [([seconds] * processors, 1, [])]


def openb(path):
    for row in csv.DictReader(open(path)):
        if row["deletion_time"] and row["scheduled_time"]:
            seconds = float(row["deletion_time"]) - float(row["scheduled_time"])
            if seconds > 0:
                yield float(row["creation_time"]), [([seconds], int(row["cpu_milli"]) / 1000, [])]


def wfcommons(path):
    workflow = json.load(open(path))["workflow"]
    tasks = workflow.get("tasks") or workflow["specification"]["tasks"]
    runs = {task.get("id") or task["name"]: task for task in workflow.get("execution", {}).get("tasks", tasks)}
    index = {}
    for at, task in enumerate(tasks):
        index[task.get("id") or task["name"]] = at
        index.setdefault(task["name"], at)
    stages = []
    for task in tasks:
        run = runs[task.get("id") or task["name"]]
        seconds = run.get("runtimeInSeconds", run.get("runtime"))
        stages.append(([seconds], 1, [index[parent] for parent in task.get("parents", [])]))
    yield 0.0, stages


def dax(path):
    root = xml.parse(path).getroot()
    space = root.tag[: root.tag.index("}") + 1]
    jobs = root.findall(space + "job")
    index = {job.get("id"): at for at, job in enumerate(jobs)}
    parents = {child.get("ref"): [parent.get("ref") for parent in child] for child in root.findall(space + "child")}
    yield 0.0, [([float(job.get("runtime"))], 1, [index[p] for p in parents.get(job.get("id"), [])]) for job in jobs]


def batsim(path):
    workload = json.load(open(path))
    for job in sorted(workload["jobs"], key=lambda job: job["subtime"]):
        seconds = float(workload["profiles"][job["profile"]]["delay"])
        yield float(job["subtime"]), [([seconds] * job["res"], 1, [])]


def alibaba2017(path):
    names = "create_timestamp,modify_timestamp,job_id,task_id,instance_num,status,plan_cpu,plan_mem".split(",")
    jobs = {}
    for row in csv.DictReader(open(path), names):
        # Some files have a header.
        if not row["job_id"].isdigit():
            continue
        first, stages = jobs.setdefault(row["job_id"], ([], []))
        start, end = (float(row[name] or 0) for name in names[:2])
        if start:
            first.append(start)
        if row["status"] == "Terminated" and start and end >= start and end:
            cpus = float(row["plan_cpu"] or 0) / 100
            stages.append(([end - start] * int(row["instance_num"]), cpus or (0 if row["plan_mem"] else 1), []))
    for first, stages in jobs.values():
        if stages:
            yield max(0.0, min(first)), stages


def alibaba2018(path):
    """R5_2_3 is stage 5, which waits for all rows of stages 2 and 3; other names have no order."""
    names = "task_name,instance_num,job_name,task_type,status,start_time,end_time,plan_cpu,plan_mem".split(",")
    jobs = {}
    for row in csv.DictReader(open(path), names):
        if row["job_name"] == "job_name":
            continue
        first, rows = jobs.setdefault(row["job_name"], ([], []))
        start, end = (float(row[name] or 0) for name in names[5:7])
        if start:
            first.append(start)
        if row["status"] == "Terminated" and start and end >= start:
            cpus = float(row["plan_cpu"] or 0) / 100
            name = re.fullmatch(r"[A-Za-z]+(\d+)((?:_\d+)*)(?:_Stg\d+)?", row["task_name"])
            number = int(name[1]) if name else 0
            before = [int(each) for each in name[2].split("_") if each] if name else []
            need = cpus or (0 if row["plan_mem"] else 1)
            rows.append((number, [end - start] * int(row["instance_num"]), need, before))
    for first, rows in jobs.values():
        rows.sort(key=lambda row: row[0])
        stages = []
        for number, durations, need, before in rows:
            parents = [at for at, row in enumerate(rows) if row[0] in before and row[0] < number]
            stages.append((durations, need, parents))
        if stages:
            yield max(0.0, min(first)), stages


def sacct(path):
    first = None
    found = []
    header, *lines = open(path).read().splitlines()
    names = header.split("|")
    name = names.index("JobName")
    for line in lines:
        cells = line.split("|")
        # A job's name may contain the delimiter.
        cells[name : name + len(cells) - len(names) + 1] = ["|".join(cells[name : name + len(cells) - len(names) + 1])]
        row = dict(zip(names, cells))
        if "." in row["JobID"] or row["State"] in ("RUNNING", "PENDING") or row.get("Start") == "Unknown":
            continue
        submit = datetime.fromisoformat(row["Submit"] + "+00:00").timestamp()
        nodes = int(row["NNodes"])
        if "ElapsedRaw" in row:
            seconds = float(row["ElapsedRaw"])
        else:
            days, _, clock = row["Elapsed"].rpartition("-")
            hours, minutes, rest = map(int, clock.split(":"))
            seconds = float(((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + rest)
        if seconds > 0:
            found.append((submit, [([seconds] * nodes, int(row["NCPUS"]) / nodes, [])]))
            first = submit if first is None else min(first, submit)
    for submit, stages in found:
        yield submit - first, stages


def google2019(path):
    """Instances that finish; a run begins with the last time that the instance was scheduled."""
    rows = [
        (int(row["time"]), int(row["type"]), row["collection_id"], row["instance_index"])
        for row in csv.DictReader(open(path))
        if row.get("collection_type") != "1"
    ]
    began, scheduled, runs = {}, {}, {}
    for time, kind, job, instance in sorted(rows, key=lambda row: row[:2]):
        began.setdefault(job, time)
        if kind == 3:
            scheduled[job, instance] = time
        elif kind in (4, 5, 6, 7, 8):
            start = scheduled.pop((job, instance), None)
            if kind == 6 and start is not None:
                runs.setdefault(job, {})[instance] = (time - start) / 1e6
    for job, seconds in runs.items():
        if began[job] > 0:
            yield began[job] / 1e6, [(list(seconds.values()), 1, [])]


def philly(path):
    def instant(text):
        return datetime.fromisoformat(text[:19] + "+00:00").timestamp()

    found = []
    for job in json.load(open(path)):
        last = job["attempts"][-1] if job["attempts"] else {}
        times = [last.get("start_time"), last.get("end_time")]
        gpus = sum(len(machine["gpus"]) for machine in last.get("detail", []))
        if gpus and all(time not in (None, "None") for time in times):
            start, end = map(instant, times)
            found.append((instant(job["submitted_time"]), [([end - start] * gpus, 1, [])]))
    first = min(submit for submit, _ in found)
    for submit, stages in found:
        yield submit - first, stages


def azure2019(path):
    def rows(table):
        names = {"function_durations_percentiles": "durations", "invocations_per_function_md": "invocations"}
        full = os.path.join(path, table + ".anon.d01.csv")
        return csv.DictReader(open(full if os.path.exists(full) else os.path.join(path, names[table] + ".csv")))

    def key(row):
        return row["HashOwner"], row["HashApp"], row["HashFunction"]

    seconds = {key(row): float(row["Average"]) / 1000 for row in rows("function_durations_percentiles")}
    for row in rows("invocations_per_function_md"):
        for minute in range(1, 1441):
            count = int(row.get(str(minute), 0))
            for i in range(count if seconds.get(key(row), -1) >= 0 else 0):
                yield 60 * (minute - 1 + i / count), [([seconds[key(row)]], 1, [])]


def sls(path):
    text, at, decoder = open(path).read(), 0, json.JSONDecoder()
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        job, at = decoder.raw_decode(text, at)
        stages, kinds = [], []
        for task in job["job.tasks"]:
            milliseconds = task.get("duration.ms")
            if milliseconds is None:
                milliseconds = task["container.end.ms"] - task["container.start.ms"]
            cores, memory = task.get("container.vcores"), task.get("container.memory")
            kind = task.get("container.type"), cores, memory
            if kind not in kinds:
                kinds.append(kind)
                # A demand for memory alone takes no CPU, unless the simulated servers have no memory.
                stages.append(([], cores or 1, []))
            stages[kinds.index(kind)][0].extend([milliseconds / 1000] * task.get("count", 1))
        maps = [at for at, kind in enumerate(kinds) if kind[0] == "map"]
        for kind, (_, _, before) in zip(kinds, stages):
            if kind[0] == "reduce":
                before.extend(maps)
        yield job["job.start.ms"] / 1000, stages


FORMATS = {
    "swf": swf,
    "openb": openb,
    "wfcommons": wfcommons,
    "dax": dax,
    "batsim": batsim,
    "alibaba2017": alibaba2017,
    "alibaba2018": alibaba2018,
    "sacct": sacct,
    "google2019": google2019,
    "philly": philly,
    "azure2019": azure2019,
    "sls": sls,
}


def in_running_order(stages):
    """Puts each stage behind its predecessors, in the order of the file as far as possible."""
    order, place = [], {}

    def visit(root):
        path = [(root, iter(stages[root][2]))]
        while path:
            at, before = path[-1]
            after = next((parent for parent in before if parent not in place), None)
            if after is not None:
                path.append((after, iter(stages[after][2])))
            else:
                path.pop()
                if at not in place:
                    place[at] = len(order)
                    order.append(at)

    for root in range(len(stages)):
        if root not in place:
            visit(root)
    return [(stages[at][0], stages[at][1], [place[parent] for parent in stages[at][2]]) for at in order]


def fifo(jobs, servers, cpus):
    """Returns the run time of each job; servers have the same number of CPUs."""
    free = [cpus] * servers
    jobs = [(submit, in_running_order(stages)) for submit, stages in sorted(jobs, key=lambda job: job[0])]
    queue, ends, order = deque(), [], 0
    left = [[len(durations) for durations, _, _ in stages] for _, stages in jobs]
    waits_for = [[len(set(before)) for _, _, before in stages] for _, stages in jobs]
    runtimes = [0.0] * len(jobs)

    def release(job, stage):
        durations, need, _ = jobs[job][1][stage]
        queue.extend((job, stage, need, seconds) for seconds in durations)

    def place(now):
        nonlocal order
        while queue:
            job, stage, need, seconds = queue[0]
            # A tolerance of a millionth of a CPU, as fractions of CPUs are no binary numbers.
            server = next((at for at, room in enumerate(free) if room >= need - 1e-6), None)
            if server is None:
                return
            queue.popleft()
            free[server] -= need
            order += 1
            heapq.heappush(ends, (now + seconds, order, server, job, stage, need))

    arriving = 0
    while arriving < len(jobs) or ends:
        now = min(jobs[arriving][0] if arriving < len(jobs) else float("inf"), ends[0][0] if ends else float("inf"))
        while ends and ends[0][0] == now:
            _, _, server, job, stage, need = heapq.heappop(ends)
            free[server] += need
            left[job][stage] -= 1
            if left[job][stage] == 0:
                runtimes[job] = now - jobs[job][0]
                for later, (_, _, before) in enumerate(jobs[job][1]):
                    if stage in before:
                        waits_for[job][later] -= 1
                        if waits_for[job][later] == 0:
                            release(job, later)
            # Tasks that end at the same time free their CPUs one after the other.
            place(now)
        while arriving < len(jobs) and jobs[arriving][0] == now:
            for stage, count in enumerate(waits_for[arriving]):
                if count == 0:
                    release(arriving, stage)
            arriving += 1
            place(now)
    return runtimes


if __name__ == "__main__":
    path, name, servers, cpus = sys.argv[1:5]
    for seconds in fifo(list(FORMATS[name](path)), int(servers), float(cpus)):
        print(repr(seconds))
