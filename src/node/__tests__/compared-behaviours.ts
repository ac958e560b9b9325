/**
 * What holds each row of the tables that compare the local schedulers and diagnostics with Dask's, in the order of the rows:
 *
 *     [beginning of the row's behaviour, what holds it …]
 *
 * `folder/file: beginning of a title` names a test of `src/node/<folder>/__tests__/<file>.spec.ts`; `python file: test` one of
 * `spanwise/tests`, `browser file: …` one of `ui-tests/tests`; `case: name` one of compared-cases.ts.
 */
export type Held = readonly [behaviour: string, ...holders: string[]];

/** Page → heading over the table → rows. */
export const COMPARED: Readonly<
  Record<string, Readonly<Record<string, readonly Held[]>>>
> = {
  'local-schedulers.md': {
    '1.1 Entry points': [
      [
        'a key or lists of keys, nested',
        'local/entry: §1.1: answers in the nesting of the keys',
        'local/entry: §1.1: a tuple is a key, never a list',
        'pools/workers: §1.1: answer in the form of the keys'
      ],
      [
        'an array that is a key and whose parts are all keys',
        'local/entry: §1.1: an array that is both a tuple and a list'
      ],
      [
        'a requested key given as `ref(key)`',
        'case: a requested key may be given as a reference'
      ],
      [
        '`numWorkers`: `getSync` has one',
        'local/entry: §1.1: getSync has one worker',
        'pools/workers: §1.8: are the same in every run without a pool',
        'case: getAsync has sixteen under way'
      ],
      ['`numWorkers: 0`', 'mistakes: refuses %p as a number of workers'],
      [
        '`chunkSize`: 1, processes 6',
        'pools/workers: §1.1: without a chunkSize, begin with',
        'mistakes: refuses %p as tasks per batch; 0 and nothing'
      ],
      [
        '`cache`, `callbacks`',
        'local/entry: §1.9: inputs come from the cache',
        'local/callback: §1.6: an explicit list replaces',
        'local/errors: §1.7: calls the failing task again',
        'pools/workers: are not let go by a run'
      ],
      [
        '`signal`',
        'local/errors: §1.8: an aborted signal',
        'pools/failures: an abort ends the run at once'
      ],
      ['settings from a file', 'case: no setting comes from the environment'],
      ['hooks `get_id`', 'case: has nothing of the names that Dask alone has'],
      [
        'unknown options are ignored',
        'local/entry: §1.1, §6.1: does not change the graph; unknown options are ignored',
        'local/entry: §1.1: a chunk size or a number of workers that is none',
        'mistakes: refuses %p as tasks per batch'
      ],
      [
        'any mapping',
        'local/entry: §1.1, §6.1: takes plain objects',
        'local/entry: §1.1: callbacks see a graph of nodes of their own',
        'local/entry: §1.1: an entry that refers to itself'
      ]
    ],
    '1.2 The state': [
      [
        'one object per run',
        'local/task-choice: §1.2: one object for a whole run',
        'local/entry: §1.2: lists what the request reaches'
      ],
      [
        'fields are sets, maps',
        'local/state-view: prints what it holds',
        'local/entry: §1.2: lists what the request reaches'
      ],
      [
        'constants are there at once',
        'local/entry: §1.2: aliases are tasks, constants are not',
        'local/task-choice: §1.2: data is in the cache from the beginning'
      ],
      [
        'a dependency that is nowhere',
        'local/entry: §1.2: a dependency that is nowhere'
      ],
      ['a cached `0`', 'local/entry: §1.2: a cached %p is there'],
      [
        'a key in both graph and cache',
        'local/entry: §1.9: the graph wins over the cache'
      ],
      [
        'a requested key that is nowhere',
        'local/entry: §1.2: an unknown requested key',
        'pools/failures: a requested key that is nowhere'
      ]
    ],
    '1.3 Order of events': [
      [
        '`start`, static order',
        'local/entry: §1.3: start, startState, pretask',
        'local/task-choice: §1.3, §1.4, §1.5: as the specification words it',
        'local/batching: §1.5: all pretasks of a hand-out'
      ],
      [
        'what is in `running`',
        'local/task-choice: §1.3, §1.4, §1.5: as the specification words it',
        'local/entry: §1.3: what is released is gone'
      ],
      ['a cycle anywhere', 'local/entry: §1.3: a cycle anywhere'],
      ['`Found no accessible jobs`', 'case: no cycle comes as far as the loop'],
      [
        'a requested key is never released',
        'local/entry: §1.3: what is released is gone before posttask'
      ],
      ['chains of 10,000 tasks', 'local/entry: §1.3: a chain of 10,000']
    ],
    '1.4 Task choice': [
      [
        'what became ready last runs first',
        'local/task-choice: §1.3, §1.4, §1.5: as the specification words it',
        'local/task-choice: §1.2, §1.4: what is ready at first',
        'local/task-choice: §1.4: the order of running'
      ]
    ],
    '1.5 Batching': [
      [
        'how many tasks a hand-out takes',
        'local/batching: §1.5: hands out chunkSize',
        'local/batching: §1.5: -1 divides',
        'pools/workers: §1.5: run the tasks of a batch'
      ],
      ['−1 with nothing ready', 'local/batching: §1.5: -1 with nothing ready'],
      [
        'threads and processes without `chunkSize`',
        'pools/workers: have each of many small tasks told in its order',
        'pools/workers: do not let a long task hold up'
      ]
    ],
    '1.6 Callbacks': [
      [
        'five hooks and what each receives',
        'local/callback: §1.6: each hook gets what the table says',
        'local/callback: §1.6: hooks by constructor',
        'local/callback: §1.6: hooks are read again'
      ],
      [
        'internal 5-tuples',
        'local/callback: §1.6: what is no list or no callback is refused'
      ],
      [
        "the worker's id",
        'local/entry: §1.8: the worker of getSync is null',
        'pools/workers: tell callbacks of each task',
        'pools/workers: give aliases their value'
      ],
      [
        '`register`, `unregister`',
        'local/callback: §1.6: registered until unregistered'
      ],
      [
        'a block (`run`',
        'local/callback: §1.6: run activates for a body',
        'local/callback: §1.6: using activates',
        'local/callback: §1.6: what is no list or no callback is refused'
      ],
      ['`addCallbacks`', 'local/callback: §1.6: several at once are called'],
      [
        'the same callback entered twice',
        'local/callback: §1.6: leaving an inner block'
      ],
      [
        'order of several callbacks',
        'local/callback: §1.6: several at once are called in the order'
      ],
      [
        'an explicit list',
        'local/callback: §1.6: an explicit list replaces',
        'local/callback: §1.6: what is no list'
      ],
      [
        'hooks that promise something',
        'local/hooks-that-promise: is rejected if the promise',
        'local/hooks-that-promise: has its answer, and the failure is told'
      ],
      [
        'runs inside a task',
        'local/callback: §1.6: a run inside a task sees',
        'local/callback: §1.6: nor a run inside a hook',
        'local/callback: §1.6: a registration made inside'
      ],
      ['two runs at once', 'local/callback: §1.6: two runs at once']
    ],
    '1.7 Errors': [
      [
        'who still hears what',
        'local/errors: §1.7: start of a callback',
        'local/errors: §1.7: a cycle, a missing dependency',
        'local/errors: §1.7: startState',
        'local/errors: §1.7: pretask',
        'local/errors: §1.7: posttask',
        'local/errors: §1.7: finish',
        'local/errors: §1.7: a task: no posttask',
        'pools/failures: a task that ends its worker is named; the pool'
      ],
      [
        'items of a batch before the failure',
        'local/batching: §1.7: when an item of a batch fails',
        'pools/failures: items of a batch before'
      ],
      [
        'those after it',
        'local/errors: §1.7: after the first error of a batch',
        'pools/shared-pools: begins no further task once'
      ],
      [
        'tasks under way are not cancelled',
        'local/errors: §1.7: are not waited for',
        'pools/failures: what a failed run still had under way',
        'pools/failures: an abort ends the run at once'
      ],
      [
        'processes: the error comes when',
        'pools/shared-pools: do not wait behind a task of a failed run'
      ],
      [
        'the very error is thrown',
        'local/errors: §1.7: a task: no posttask for it, finish errored, and the very error'
      ],
      [
        'from workers: message, stack',
        'pools/failures: a task that throws rejects',
        'pools/remote-error: keep class name, message'
      ],
      [
        '… a class that derives',
        'pools/remote-error: are of the same built-in class',
        'pools/remote-error: keep a name that was set'
      ],
      [
        '`rerunExceptionsLocally`: called again',
        'local/errors: §1.7: calls the failing task again',
        'local/errors: §1.7: has no effect on getSync'
      ],
      [
        '… and it succeeds',
        'local/errors: §1.7: if it succeeds now',
        'pools/failures: rerunExceptionsLocally calls'
      ],
      [
        'a promise as a result of `getSync`',
        'local/entry: §1.8: getSync runs functions that are not async'
      ],
      [
        'Ctrl-C',
        'pools/whole-programs: on Ctrl-C rejects',
        'pools/whole-programs: with getAsync: Ctrl-C',
        'pools/whole-programs: with getSync: Ctrl-C'
      ]
    ],
    '1.8 The schedulers': [
      ['names (`sync`', 'case: has nothing of the names that Dask alone has'],
      [
        'this thread: one worker',
        'local/entry: §1.8: the worker of getSync is null',
        'local/entry: §1.8: values go from task to task'
      ],
      ['`getAsync`', 'local/entry: §1.8: getAsync has numWorkers promises'],
      [
        'one pool for all runs of threads',
        'pools/workers: §1.8: are the same in every run',
        'pools/workers: run no other worker count'
      ],
      [
        'a pool of processes per run',
        'pools/workers: §1.8: are the same in every run',
        'pools/whole-programs: ends by itself'
      ],
      [
        'values in threads by reference',
        'pools/sent-values: each task has its own arguments',
        'pools/workers: share SharedArrayBuffers',
        'pools/workers: move large results'
      ],
      [
        "the caller's context in tasks",
        'local/entry: §1.8: tasks are in the async context',
        'case: the context of the caller ends at a worker'
      ],
      [
        'processes: what the request does not need',
        'pools/workers: drop what the request does not need',
        'pools/failures: a requested key that is nowhere'
      ],
      ['`optimize_graph`', 'case: nothing is fused'],
      [
        '`initializer`',
        'pools/initializer: §1.8: is called once in each worker'
      ],
      ['start method', 'case: has nothing of the names that Dask alone has'],
      [
        'cloudpickle',
        'graph/portable: is a function that stands on its own',
        'graph/portable: is no closure',
        'graph/portable: is sent as its place'
      ],
      [
        'what cannot be sent or read',
        'pools/failures: a result that cannot be sent',
        'pools/failures: an argument that cannot be sent',
        'pools/hostile-values: what arrives unreadable'
      ],
      [
        'any executor as `scheduler=`',
        'pools/workers: of the other kind are refused'
      ],
      ['async functions', 'pools/workers: await asynchronous functions'],
      [
        'the number of CPUs',
        'pools/workers: §1.8: are the same in every run without a pool'
      ]
    ],
    '1.9 Caches': [
      [
        'inputs are read from it',
        'local/entry: §1.9: inputs come from the cache',
        'local/caches: §1.9: serves as the store of a run'
      ],
      [
        'names that are in the cache alone',
        'local/entry: §1.9: a requested key may be in the cache alone',
        'local/entry: §1.2: externally cached keys'
      ],
      [
        'a cache that dropped',
        'local/entry: §1.9: a cache that dropped',
        'local/caches: §1.9: too small'
      ],
      [
        'a `start` hook may replace',
        'local/caches: §1.9: start hooks may replace'
      ]
    ],
    '6 Graphs': [
      [
        'plain objects and maps',
        'local/entry: §1.1, §6.1: takes plain objects',
        'graph/graph: is refused: %s'
      ],
      [
        'unknown options are accepted',
        'local/entry: §1.1, §6.1: does not change the graph; unknown'
      ],
      [
        'texts and tuples compared by value',
        'graph/key: §6.2: ids are equal exactly',
        'graph/key: §6.2: 0 and −0',
        'graph/key: §6.2: %p is no key'
      ],
      ['numbers as keys', 'graph/key: §6.2: %p is no key'],
      [
        '`Task`, `Alias`',
        'graph/graph: §6.3: nested tasks are called',
        'graph/graph: §6.3: containers with references',
        'graph/graph: §6.3: a task needs a function'
      ],
      [
        'arguments are searched',
        'graph/graph: §6.3: references in lists',
        'graph/graph: §6.3: instances of other classes'
      ],
      [
        'promises of nested calls',
        'local/thenables: §6.3: nested calls that give promises',
        'pools/workers: make nested calls'
      ],
      ['nodes have no keys', 'case: nodes are compared by identity'],
      ['fused tasks', 'case: nothing is fused'],
      [
        'dependencies are exact',
        'graph/graph: §6.4: dependencies are exact',
        'graph/graph: §6.4: keeps the ancestors',
        'local/thenables: §1.8: a function with `then`'
      ],
      ['calling a node', 'case: a node cannot be called'],
      ['conversion of legacy graphs', 'graph/graph: §6.5: texts and tuples'],
      [
        'an alias to itself',
        'local/entry: §1.1: an entry that refers to itself'
      ],
      ['prefixes as `key_split`', 'graph/graph: §6.6: %p → %p'],
      ['groups', 'case: has nothing of the names that Dask alone has'],
      ['names of fused', 'case: nothing is fused'],
      [
        'static order: a permutation',
        'graph/order: §6.7: is a permutation',
        'graph/order: §6.7: keys outside',
        'graph/order: §6.7: names a loop',
        'graph/order: §6.7: leaves its input',
        'python test_static_order: test_orders_hold_no_more_than_dasks'
      ],
      [
        'ties',
        'graph/order: §6.7: runs equal tasks in the order of the graph',
        'graph/order: §6.7: does not depend on the names'
      ],
      ['`return_stats`', 'case: order gives numbers and no statistics']
    ]
  },
  'local-diagnostics.md': {
    '§2 ProgressBar': [
      [
        '`minimum`, `width`',
        'diagnostics/progress-bar: §2: writes to the standard output of when',
        'diagnostics/progress-bar: §2: writes nothing for runs shorter',
        'diagnostics/progress-bar: §2: bar and per cent'
      ],
      ['`dt` is called', 'case: has options of other names'],
      [
        'text, times, truncated',
        'diagnostics/progress-bar: §2: shows 0% first',
        'diagnostics/progress-bar: §2: ends its line where it was',
        'diagnostics/format-duration: §2: %d s is %s'
      ],
      [
        'counts aliases',
        'diagnostics/progress-bar: §2: counts aliases',
        'diagnostics/progress-bar: §2: a run without a task',
        'diagnostics/progress-bar: §2: of a graph that cannot run'
      ],
      [
        'nothing is shown before',
        'diagnostics/progress-bar: §2: writes nothing for runs',
        'diagnostics/progress-bar: §2: a longer run is shown'
      ],
      [
        'drawn by a timer',
        'diagnostics/progress-bar: §2: draws by a timer',
        'diagnostics/progress-bar: §2: draws between'
      ],
      [
        'finishing waits for the timer',
        'diagnostics/progress-bar: draws once and at the end with an interval'
      ],
      ['a shorter text', 'diagnostics/progress-bar: §2: a shorter text covers'],
      [
        'no terminal',
        'diagnostics/progress-bar: §2: what cannot overwrite',
        'diagnostics/progress-bar: §2: a log of an hour'
      ],
      ['several bars at once', 'diagnostics/progress-bar: §2: several at once'],
      [
        'several runs at once',
        'diagnostics/progress-bar: §2: shows two runs at once'
      ],
      [
        'a closed stream',
        'diagnostics/progress-bar: §2: a closed stream',
        'diagnostics/closed-pipe: §2: the program goes on'
      ],
      ['a null stream', 'case: a bar without a stream has the standard output']
    ],
    '§3 Profilers': [
      [
        'entering forgets',
        'diagnostics/profiler: §3: entering forgets',
        'diagnostics/profiler: §3: registered, it gathers'
      ],
      [
        'entering the same profiler',
        'diagnostics/profiler: §3: entered again inside'
      ],
      [
        'times are of a clock',
        'diagnostics/profiler: §3: the clock is no wall clock'
      ],
      [
        '… in seconds since the epoch',
        'case: times are seconds since the epoch'
      ],
      [
        'key, task, start, end, worker',
        'diagnostics/profiler: §3.1: records key, task',
        'diagnostics/profiler: §3.1: of a run that fails',
        'diagnostics/profiler: §3.1: what is under way',
        'diagnostics/profiler: §3.1: has exactly the tasks'
      ],
      [
        'start and end are stamped',
        'pools/stamps: are those of the tasks, long beside short',
        'pools/stamps: are those of the tasks, whatever they take'
      ],
      [
        'an alias in a run of threads',
        'case: an alias among workers has no worker and takes no time'
      ],
      [
        'two runs in one block',
        'diagnostics/profiler: §3: entering forgets',
        'case: a block keeps its runs, and a second block its own'
      ],
      [
        'several runs at once in one profiler',
        'diagnostics/profiler: §3.1: tells two runs'
      ],
      [
        '`clear()` empties the list',
        'diagnostics/profiler: §3.1: clear empties'
      ],
      [
        'MB of resident memory',
        'diagnostics/resource-profiler: §3.2: samples time, memory and CPU',
        'diagnostics/resource-profiler: §3.2: memory agrees',
        'diagnostics/cpu-meter: §3.2: is CPU time since'
      ],
      [
        'the whole block',
        'diagnostics/resource-profiler: §3.2: samples the whole block',
        'diagnostics/resource-profiler: §3.2: samples of a run that fails',
        'diagnostics/resource-profiler: §3.2: registered, it samples'
      ],
      [
        'registered, the sampler lives',
        'diagnostics/resource-profiler: §3.2: registered, it samples runs'
      ],
      [
        '`clear()` replaces',
        'diagnostics/resource-profiler: §3.2: clear replaces'
      ],
      ['Ctrl-C does not end', 'diagnostics/resource-profiler: §3.2: Ctrl-C'],
      [
        'processes that are gone',
        'diagnostics/resource-profiler: §3.2: a process that is gone'
      ],
      [
        '`dt` is called `interval`',
        'case: has options of other names',
        'diagnostics/resource-profiler: §3.2: an interval is a number'
      ],
      [
        'which processes',
        'diagnostics/resource-profiler: §3.2: sees grandchildren',
        'diagnostics/resource-profiler: §3.2: leaves the sampler'
      ],
      [
        'CPU counters are read once',
        'diagnostics/cpu-meter: §3.2: is primed',
        'diagnostics/cpu-meter: a process that comes under this one'
      ],
      ['stretches under 20 ms', 'diagnostics/cpu-meter: §3.2: repeats itself'],
      [
        'leaving waits for an answer',
        'diagnostics/resource-profiler: §3.2: a short block has a sample'
      ],
      [
        'a sampler that is gone',
        'diagnostics/resource-profiler: §3.2: without its sampler',
        'diagnostics/resource-profiler: that cannot be started'
      ],
      [
        'samples travel through a file',
        'diagnostics/resource-profiler: §3.2: samples time, memory and CPU while a synchronous',
        'diagnostics/resource-profiler: leaves no files'
      ],
      [
        'Linux reads `/proc`',
        'diagnostics/resource-profiler: §3.2: elsewhere than on Linux'
      ],
      [
        'fields; entry and exit',
        'diagnostics/cache-profiler: §3.3: records key, task',
        'diagnostics/cache-profiler: §3.3: results enter at their posttask',
        'diagnostics/cache-profiler: §3.3: after an error'
      ],
      [
        'the metric is called once',
        'diagnostics/cache-profiler: §3.3: the metric is asked once',
        'diagnostics/cache-profiler: §3.3: what throws in the metric'
      ],
      [
        '`metricName`',
        'diagnostics/cache-profiler: §3.3, issue 4: bytes by default'
      ],
      [
        "the metric is `'bytes'`",
        'diagnostics/cache-profiler: §3.3, issue 4: bytes by default'
      ],
      [
        'a metric without a name',
        'diagnostics/cache-profiler: §3.3, issue 4: bytes by default'
      ],
      [
        '`clear()` during a run',
        'diagnostics/cache-profiler: §3.3: clear forgets'
      ]
    ],
    '§4 visualize': [
      [
        'one profiler, a list',
        'visualize/visualize: §4: draws what real profilers recorded'
      ],
      [
        'options go to every plot',
        'visualize/figure: §4: title, width',
        'visualize/visualize: §4: an unknown option',
        'visualize/options: §4: refuses %j'
      ],
      [
        'title `Profile Results`',
        'visualize/options: §4: has the defaults',
        'visualize/figure: §4: one plot is 800'
      ],
      [
        '`show`, `save`',
        'visualize/options: §4: has the defaults',
        'visualize/visualize: §4: show opens'
      ],
      ['`mode`, `tools`', 'case: visualize has none of Bokeh’s options'],
      ['what is returned', 'visualize/visualize: §4: returns plain data'],
      [
        'without start or end',
        'visualize/visualize: §4: works without records'
      ],
      [
        'wheel zooms',
        'visualize/figure: §4, §4.1, §4.2, §4.3: the wheel zooms',
        'browser visualize-file: zooming in one plot'
      ],
      [
        'a rectangle per task',
        'visualize/figure: §4.1: one rectangle per task',
        'visualize/task-plot: §4.1: rows by the durations',
        'visualize/figure: §4.1: the pointer shows'
      ],
      [
        'without tasks: rows 0 to 7',
        'visualize/figure: §4.1: without tasks',
        'visualize/visualize: §4.1, §4.3, §4.4: without any records'
      ],
      [
        'rows centred',
        'visualize/figure: §4.1: one rectangle per task, from start to end, centred',
        'visualize/task-plot: §4.1: tasks that one worker runs'
      ],
      [
        'a legend of the labels',
        'browser visualize-file: shows tasks, resources and cache'
      ],
      [
        'narrow tasks',
        'visualize/task-rects: puts what lies in one pixel',
        'visualize/task-rects: draws a few thousand'
      ],
      ['% CPU left', 'visualize/figure: §4.2: % CPU on the left'],
      [
        'without samples',
        'visualize/figure: §4.2: without samples',
        'visualize/visualize: §4.2: the time of resources'
      ],
      ['lines 3 pixels wide', 'case: lines of resources are three pixels wide'],
      [
        'a line per label',
        'visualize/lines: §4.3: one line per label',
        'visualize/figure: §4.3: a line of steps',
        'visualize/figure: §4.3: empty'
      ],
      [
        'true steps',
        'visualize/lines: §4.3: changes at the same time',
        'visualize/lines: have at most four points',
        'visualize/figure: of very many labels'
      ],
      [
        'zoom is horizontal',
        'visualize/figure: §4, §4.1, §4.2, §4.3: the wheel zooms'
      ],
      [
        'one column in list order',
        'visualize/figure: §4.4: lie one below the other',
        'visualize/figure: §4.4: left and right'
      ],
      [
        'time 0 is the earliest',
        'visualize/visualize: §4.4: plots begin at the earliest'
      ],
      [
        'labels and their budget',
        'graph/label: §4.5: a call shows',
        'graph/label: §4.5: arguments without room',
        'graph/label: §4.5: of a list'
      ],
      [
        'an object with references',
        'graph/label: §4.5: an object with references'
      ],
      [
        'composed functions',
        'graph/label: §4.5: functions without a name, and bound ones'
      ],
      [
        'smallest palette',
        'visualize/palette: §4.5: the smallest palette',
        'visualize/palette: §4.5: if colours remain',
        'visualize/palette: §4.5: more labels',
        'visualize/palette: §4.5: equal labels'
      ],
      [
        'colours are moved',
        'visualize/figure: keeps dark colours visible',
        'browser visualize-file: follows the colours'
      ]
    ]
  }
};
