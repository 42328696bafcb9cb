"""Fixed-priority schedules, tick by tick: operations are released at certain times and run for their worst case.

A job of a more urgent preemption priority interrupts; within a priority, or where nothing may be interrupted, a job that has
begun runs on.  Which job begins is decided by (priority, sub-priority), then by release.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.channel.scheduling.analysis import Task


def responses(
    tasks: list[Task],
    offsets: list[list[int]],
    until: int,
    preemptive: bool,
    key: Callable[[Task, int], Any] | None = None,
    within: bool = False,
) -> dict[str, list[int]]:
    """The response times of all jobs released before `until`.  `key` orders the jobs of a priority (task, release); `within`: an
    earlier key interrupts within a priority, too."""
    jobs: list[list[Any]] = []  # priority, key, release, number, left, name, begun
    done: dict[str, list[int]] = {task.name: [] for task in tasks}
    current: dict[int, list[Any]] = {}  # of each priority, what runs or was interrupted by another priority
    now = 0
    while now < until or jobs:
        for task, starts in zip(tasks, offsets, strict=True):
            for period, start in zip(task.streams, starts, strict=True):
                if now < until and now >= start and (now - start) % period == 0:
                    order = task.sub if key is None else key(task, now)
                    jobs.append([task.priority, order, now, len(jobs), task.worst, task.name, False])
        if jobs:
            job = _by_key(jobs, current) if within else _chosen(jobs, preemptive)
            job[6] = True
            job[4] -= 1
            if job[4] == 0:
                jobs.remove(job)
                done[job[5]].append(now + 1 - job[2])
        now += 1
        assert now < 100 * until + 1000, "more work than time"
    return done


def _chosen(jobs: list[list[Any]], preemptive: bool) -> list[Any]:
    begun = [job for job in jobs if job[6]]
    if not preemptive and begun:
        return begun[0]
    first = min(jobs, key=lambda job: (job[0], job[1], job[2], job[3]))
    return next((job for job in begun if job[0] == first[0]), first)


def _by_key(jobs: list[list[Any]], current: dict[int, list[Any]]) -> list[Any]:
    """What runs goes on until it has ended or something with an earlier key is there; keys are (key, sub-priority)."""
    priority = min(job[0] for job in jobs)
    first = min((job for job in jobs if job[0] == priority), key=lambda job: (job[1], job[2], job[3]))
    running = current.get(priority)
    if running is None or running[4] == 0 or first[1][0] < running[1][0]:
        current[priority] = first
    return current[priority]
