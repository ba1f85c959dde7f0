"""Finds the gateway where the command finds its cluster: environment, folder, clusters and dashboards that run on this machine."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .errors import GoshawkError, Unreachable


class Found(NamedTuple):
    """A gateway, its token, and the folder of the cluster's data if it runs on this machine."""

    url: str
    token: str
    data_folder: Optional[str] = None


def find_gateway() -> Found:
    """
    Returns the gateway of `GOSHAWK_API`; else of the cluster of `GOSHAWK_CLUSTER`, of the one that runs from this folder, or of the
    only one of this user. Raises an error with the line to type if there is none.
    """
    token = os.environ.get("GOSHAWK_TOKEN", "")
    api = os.environ.get("GOSHAWK_API")
    if api:
        return Found(api, token)
    cluster, data_folder, page = _find_cluster()
    found = _of_page(page) or _dashboard_of(cluster)
    if found is None:
        raise Unreachable(
            f"the cluster at {cluster} serves no HTTP, which Python needs",
            "no-gateway",
            f"type `goshawk dashboard --cluster {cluster}` in another terminal, or start the cluster with `goshawk up --dashboard`",
        )
    return Found(found[0], token or found[1], data_folder)


def _find_cluster() -> Tuple[str, Optional[str], Optional[str]]:
    given = os.environ.get("GOSHAWK_CLUSTER")
    clusters = _clusters()
    if given:
        wanted = [_file_name(url.strip()) for url in given.split(",")]
        for cluster in clusters:
            if _file_name(cluster["url"]) in wanted:
                return cluster["url"], cluster.get("dataFolder"), cluster.get("page")
        return given, None, None
    here = [cluster for cluster in clusters if cluster["isHere"]]
    candidates = here or clusters
    if not candidates:
        raise Unreachable(
            "no cluster is running on this machine",
            "no-cluster",
            "start one with `goshawk up --dashboard`, in Python with `goshawk.LocalCluster()`, or set GOSHAWK_API to the address of a dashboard",
        )
    if len(candidates) > 1:
        listed = ", ".join(f"{each['url']} ({each.get('dataFolder')})" for each in candidates)
        which = "have their data in this folder" if here else "run on this machine, none from this folder"
        raise GoshawkError(
            f"{len(candidates)} clusters {which}: {listed}", "several-clusters", "choose one with GOSHAWK_CLUSTER"
        )
    return candidates[0]["url"], candidates[0].get("dataFolder"), candidates[0].get("page")


def _clusters() -> List[Dict[str, Any]]:
    """Returns the running clusters of this user: those with their data here, and those of the state home."""
    here = os.getcwd()
    folders = [here]
    try:
        with os.scandir(here) as entries:
            folders += sorted(entry.path for entry in entries if entry.is_dir())
    except OSError:
        pass
    found: Dict[Tuple[int, str], Dict[str, Any]] = {}
    for folder in folders:
        cluster = _running(os.path.join(folder, "cluster.json"))
        if cluster is not None:
            found[cluster["pid"], cluster["url"]] = {**cluster, "dataFolder": folder, "isHere": True}
    registered = os.path.join(state_folder(), "clusters")
    try:
        names = sorted(os.listdir(registered))
    except OSError:
        names = []
    for name in names:
        cluster = _running(os.path.join(registered, name)) if name.endswith(".json") else None
        if cluster is None:
            continue
        data = os.path.realpath(cluster.get("dataFolder") or "/nowhere")
        place = os.path.realpath(here)
        is_here = place in (data, os.path.dirname(data))
        found.setdefault((cluster["pid"], cluster["url"]), {**cluster, "isHere": is_here})
    return sorted(found.values(), key=lambda cluster: (cluster.get("startedAt") or 0, cluster["url"]))


def _dashboard_of(clusters: str) -> Optional[Tuple[str, str]]:
    for url in clusters.split(","):
        gateway = _running(os.path.join(state_folder(), "gateways", f"{_file_name(url.strip())}.json"))
        if gateway is not None:
            return gateway["url"], gateway.get("token") or ""
    return None


def _of_page(page: Optional[str]) -> Optional[Tuple[str, str]]:
    if not page:
        return None
    url, _, token = page.partition("/#token=")
    return url.rstrip("/"), token


def state_folder() -> str:
    """Returns this user's folder for what running processes register."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(home, "goshawk")


def _file_name(url: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", url.replace("//localhost:", "//127.0.0.1:"))


def _running(path: str) -> Optional[Dict[str, Any]]:
    """Reads what a process has registered; None if it has ended, or if another user may have written the file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode) or stranger_at(path) is not None:
            return None
        with open(path, encoding="utf-8") as file:
            registered = json.load(file)
        pid, url = registered["pid"], registered["url"]
        if not isinstance(pid, int) or not isinstance(url, str):
            return None
        if os.path.isdir("/proc/self") and os.stat(f"/proc/{pid}").st_uid != os.geteuid():
            return None
        birth = registered.get("birth")
        if birth is not None and birth != _birth_of(pid):
            return None
        os.kill(pid, 0)
        return registered
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _birth_of(pid: int) -> Optional[str]:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return f"{boot} {fields[19]}"


def stranger_at(path: str) -> Optional[str]:
    """Says why an account other than this one and root may have written, or may replace, what a path leads to."""
    if not hasattr(os, "geteuid"):
        return None
    # In a user namespace, root's files appear under another id. Who owns the root folder can change everything.
    trusted = {os.geteuid(), os.lstat("/").st_uid}
    names = [name for name in os.path.abspath(path).split("/") if name]
    at, links = "", 0
    while names:
        name = names.pop(0)
        if name == ".":
            continue
        if name == "..":
            at = os.path.dirname(at) if at else ""
            continue
        here = f"{at}/{name}"
        stats = os.lstat(here)
        is_link = stat.S_ISLNK(stats.st_mode)
        # Root may not own the file either, because the file decides for whom this process works.
        is_leaf = not names and not is_link
        if stats.st_uid not in ({os.geteuid()} if is_leaf else trusted):
            return f"{here} belongs to another user (uid {stats.st_uid})"
        if is_link:
            links += 1
            if links > 40:
                return f"{path} has too many links"
            target = os.readlink(here)
            if target.startswith("/"):
                at = ""
            names[:0] = [part for part in target.split("/") if part]
            continue
        by_group = stats.st_mode & 0o020 and stats.st_gid not in (stats.st_uid, 0)
        is_shared = stats.st_mode & stat.S_ISVTX and names
        if (stats.st_mode & 0o002 or by_group) and not is_shared:
            return f"other users can write to {here} (mode {stats.st_mode & 0o7777:04o})"
        at = here
    return None
