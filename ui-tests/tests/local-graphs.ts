/**
 * The notebooks that compute without a cluster: an array, a frame and a delayed graph, each made in span `load` and reduced in span
 * `analysis`. What the delayed graph does can be told from its stacks: `rest` sleeps in `load`, `press` works in `analysis`.
 */
import type { Profiled } from './profiled-tasks';

export const OBSERVED = 'local run';

/** In the notebook's folder, this file ends what `wait` waits for. */
export const ENOUGH = 'enough';

export const GRAPHS = `import json, os, time
from time import perf_counter

import dask, dask.array as da, dask.dataframe as dd, pandas as pd
from dask.diagnostics import Profiler

import spanwise
from spanwise import MemorySampler, span

def rest(seconds):
    time.sleep(seconds)

def press(seconds, *inputs):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))

def wait():
    while not os.path.exists("${ENOUGH}"):
        time.sleep(0.02)

def an_array():
    with span("load"):
        x = da.random.random((400, 400), chunks=100)
    with span("analysis"):
        return (x @ x.T).sum()

def a_dataframe():
    with span("load"):
        values = pd.DataFrame({"k": [n % 5 for n in range(1000)], "v": range(1000)})
        frame = dd.from_pandas(values, npartitions=4)
    with span("analysis"):
        return frame[frame.v > 10].groupby("k").v.mean()

def a_delayed_graph():
    with span("load"):
        rests = [dask.delayed(rest)(0.05 * (n % 3)) for n in range(12)]
    with span("analysis"):
        return dask.delayed(press)(0.3, *rests)`;

/** All three graphs on one of Dask's schedulers, under Dask's own profiler too. */
export const runAll = (scheduler: string) => `before = perf_counter()
with spanwise.observe("${OBSERVED}") as seen, Profiler() as profiler:
    after = perf_counter()
    ends = []
    for graph in (an_array, a_dataframe, a_delayed_graph):
        graph().compute(scheduler="${scheduler}", num_workers=2)
        ends.append(len(profiler.results))
seen`;

export type Figures = {
  readonly profiled: readonly Profiled[];
  /** Seconds by function, of everything and of span \`analysis\`. */
  readonly all: Readonly<Record<string, number>>;
  readonly analysis: Readonly<Record<string, number>>;
  readonly cpuSeconds: number;
  /** Function calls by the records of the tasks: a fused task makes several. */
  readonly executions: number;
  /** Keys of the tasks of which a part at least is in that span. */
  readonly inAnalysis: readonly string[];
};

/** Prints \`Figures\`. */
export const FIGURES = `print(json.dumps({
    "profiled": [{
        "key": str(each.key),
        "graph": sum(end <= number for end in ends),
        "place": each.worker_id,
        "earliestStart": each.start_time - after,
        "latestStop": each.end_time - before,
        "duration": each.end_time - each.start_time,
    } for number, each in enumerate(profiler.results)],
    "all": seen.fine_metrics(unit="seconds").by_function(),
    "analysis": seen.fine_metrics(span="analysis", unit="seconds").by_function(),
    "inAnalysis": sorted(
        task["key"] for task in seen.get_task_stream()
        if any("analysis" in part["span"] for part in task["startstops"])),
    "executions": sum(
        part["action"] == "compute"
        for task in seen.get_task_stream() for part in task["startstops"]),
    "cpuSeconds": seen.fine_metrics(unit="seconds").by_activity()["thread-cpu"],
}))`;
