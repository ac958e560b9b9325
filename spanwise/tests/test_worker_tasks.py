"""The table of tasks, driven by random orders of everything that can happen to it."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from spanwise.records.enumerations import FLAG_WANTED, NONE_U32
from spanwise.wire.rows import TASK_FLAGS
from spanwise.worker.tasks import LARGE_BYTES, Arrival, Fetch, TaskTable

ME = 3
PEER = 4


def row(task_id, run_id, priority=0.0, first=0):
    return (task_id, run_id, 1, NONE_U32, 0, 1, 0, 0, priority, 0.0, first)


def assign(table, *tasks, holders=None):
    """Tasks as (id, run, inputs); every input is this worker's own unless said otherwise."""
    rows, dependencies = [], []
    for priority, (task_id, run_id, inputs) in enumerate(tasks):
        rows.append(row(task_id, run_id, float(priority), len(dependencies)))
        dependencies += inputs
    held_by = [(holders or {}).get(each, ME) for each in dependencies]
    return table.assign(rows, dependencies, held_by, [8.0] * len(dependencies))


def take(table):
    entry = table.take()
    return None if entry is None else entry[2][0]


class TestOrder:
    def test_priority_decides_across_batches(self):
        table = TaskTable(ME)
        table.assign([row(1, 1, 5.0), row(2, 2, 3.0)])
        table.assign([row(3, 3, 4.0), row(4, 4, 3.0)])
        assert [take(table) for _ in range(5)] == [2, 4, 3, 1, None]

    def test_a_chain_runs_in_order_within_one_assignment(self):
        table = TaskTable(ME)
        assign(table, (1, 1, []), (2, 2, [1]), (3, 3, [2, 1]))
        ran = []
        while (entry := table.take()) is not None:
            ran.append(entry[2][0])
            table.store(entry[2], f"value {entry[2][0]}", 8.0, 1.0)
        assert ran == [1, 2, 3]
        table.check()

    def test_an_input_used_twice_counts_twice(self):
        table = TaskTable(ME)
        assign(table, (1, 1, []), (2, 2, [1, 1]))
        entry = table.take()
        assert table.store(entry[2], "a", 8.0, 1.0) == 1
        assert table.take()[3] == (1, 1)


class TestFetching:
    def test_one_fetch_serves_all_that_wait_and_its_bytes_are_booked_once(self):
        table = TaskTable(ME)
        fetches, lacking = assign(
            table, (1, 1, [100]), (2, 2, [100, 101]), holders={100: PEER, 101: PEER}
        )
        assert [(f.task_id, f.peer) for f in fetches] == [(100, PEER), (101, PEER)]
        assert not lacking and table.take() is None
        arrival = Arrival(PEER, 1.0, 2.0, 3.0, 0.0)
        replicas, woken = table.arrived([(f, "v", 10.0) for f in fetches], arrival)
        assert replicas == [(100, 10.0), (101, 10.0)] and woken == 2
        entries = [table.take(), table.take()]
        assert [entry[4].arrivals for entry in entries] == [[(arrival, 10.0)], [(arrival, 10.0)]]

    def test_what_a_peer_lacks_takes_all_that_needs_it_along(self):
        table = TaskTable(ME)
        fetches, _ = assign(
            table, (1, 1, [100]), (2, 2, [1]), (3, 3, [2, 1]), (4, 4, []), holders={100: PEER}
        )
        lacking = table.not_there(fetches[0])
        assert sorted(r[0] for r, _ in lacking) == [1, 2, 3]
        assert lacking[0][1] == [(100, PEER)]
        assert take(table) == 4 and take(table) is None
        table.check()

    def test_a_copy_that_is_here_is_not_fetched_and_not_told_of_again(self):
        """What is told again could cross a release: the scheduler would count on what is gone."""
        table = TaskTable(ME)
        table.adopt(100, "v", 8.0, 1.0)
        fetches, _ = assign(table, (1, 1, [103]), holders={103: PEER})
        items = [(each, PEER, 8.0) for each in (100, 1, 103, 101)]
        asked = table.acquire([*items, (102, ME, 8.0), (101, PEER, 8.0), (104, PEER + 1, 9.0)])
        assert [(each.task_id, each.peer, each.nbytes) for each in asked] == [
            (101, PEER, 8.0),
            (104, PEER + 1, 9.0),
        ]
        assert table.fetches == {103: fetches[0], 101: asked[0], 104: asked[1]}

    def test_an_answer_for_a_released_input_is_not_kept(self):
        table = TaskTable(ME)
        fetches, _ = assign(table, (1, 1, [100]), holders={100: PEER})
        table.release([1, 100])
        assert table.arrived([(fetches[0], "v", 1.0)], Arrival(PEER, 0, 0, 0, 0)) == ([], 0)
        assert not table.values and table.managed == 0

    def test_an_input_that_should_be_here_and_is_not(self):
        table = TaskTable(ME)
        _, lacking = assign(table, (1, 1, [7]), (2, 2, [1]))
        assert [(r[0], lost) for r, lost in lacking] == [(1, [(7, ME)]), (2, [(1, ME)])]


class TestRelease:
    def test_a_released_run_may_end_and_its_result_is_dropped(self):
        table = TaskTable(ME)
        assign(table, (1, 1, []))
        entry = table.take()
        table.release([1])
        assert table.store(entry[2], "a", 8.0, 1.0) == 0 and not table.values

    def test_a_task_may_come_back_while_its_old_run_still_runs(self):
        table = TaskTable(ME)
        assign(table, (1, 1, []))
        old = table.take()
        table.release([1])
        assign(table, (1, 2, []), (5, 5, [1]))
        new = table.take()
        table.store(old[2], "old", 8.0, 1.0)
        assert 1 not in table.values
        assert table.store(new[2], "new", 8.0, 2.0) == 1
        assert table.values[1] == "new"
        table.check()

    def test_taken_back_only_if_not_begun_and_of_the_same_run(self):
        table = TaskTable(ME)
        assign(table, (1, 1, []), (2, 2, []))
        assert take(table) == 1
        assert table.take_back(1, 1) == (False, [])
        assert table.take_back(2, 9) == (False, [])
        assert table.take_back(2, 2) == (True, [])
        assert take(table) is None


class TestLargeResults:
    def test_those_that_a_client_wants_are_noted_until_they_are_released(self):
        table = TaskTable(ME)
        made = {
            1: (FLAG_WANTED, LARGE_BYTES),
            2: (FLAG_WANTED, LARGE_BYTES - 1.0),
            3: (0xFF - FLAG_WANTED, 1e9),
            4: (0xFF, 1e9),
            5: (0xFF, 1e9),
        }
        for task_id, (flags, nbytes) in made.items():
            each = row(task_id, task_id)
            table.assign([(*each[:TASK_FLAGS], flags, *each[TASK_FLAGS + 1 :])])
            table.store(table.take()[2], "a", nbytes, 1.0)
        assert table.wanted == {1, 4, 5}
        assert len(table.release([2, 4])) == 0
        assert table.wanted == {1, 5} and list(table.values) == [1, 3, 5]

    def test_memory_that_is_shared_goes_with_the_value_that_lies_there(self):
        table = TaskTable(ME)
        for task_id in (100, 101, 102):
            table.adopt(task_id, "v", 8.0, 1.0)
            table.shared[task_id] = f"segment of {task_id}"
        # (103 never lay in one)
        table.adopt(103, "v", 8.0, 1.0)
        assert list(table.shared) == [100, 101, 102]
        table.release([103, 100])
        assert list(table.shared) == [101, 102]
        table.replace(101, "w", 9.0)
        assert table.shared == {102: "segment of 102"} and table.managed == 17.0
        table.check()


class TestFigures:
    """What goes with a task, and with its inputs, by unequal figures."""

    def test_each_input_has_its_own_holder_and_size(self):
        table = TaskTable(ME)
        table.adopt(50, "here", 4.0, 0.0)
        rows = [row(1, 1, 0.0, 0), row(2, 2, 1.0, 3)]
        dependencies = [100, 50, 101, 102, 100]
        fetches, lacking = table.assign(
            rows, dependencies, [5, ME, 6, 7, 8], [10.0, 20.0, 30.0, 40.0, 50.0]
        )
        assert not lacking
        # An input that two tasks lack is asked for once, of the holder that the first one names.
        assert [(f.task_id, f.peer, f.nbytes) for f in fetches] == [
            (100, 5, 10.0),
            (101, 6, 30.0),
            (102, 7, 40.0),
        ]
        assert table.fetches == {f.task_id: f for f in fetches}
        first, second = table.waiters[101][0], table.waiters[102][0]
        assert (first.row, first.inputs, first.lacking) == (rows[0], (100, 50, 101), 2)
        assert (second.row, second.inputs, second.lacking) == (rows[1], (102, 100), 2)
        assert table.waiters[100] == [first, second]
        table.check()

    def test_an_arrival_is_booked_to_the_task_that_asked_first_and_timed_by_it(self):
        table = TaskTable(ME)
        fetches, _ = assign(
            table, (1, 1, [100, 101, 100]), (2, 2, [101]), holders={100: PEER, 101: PEER}
        )
        one = Arrival(PEER, 1.0, 2.0, 3.5, 0.25)
        assert (one.peer, one.asked, one.received, one.opened, one.cpu) == (
            PEER,
            1.0,
            2.0,
            3.5,
            0.25,
        )
        replicas, woken = table.arrived([(f, f.task_id, f.task_id / 10) for f in fetches], one)
        assert (replicas, woken) == ([(100, 10.0), (101, 10.1)], 2)
        assert table.values == {100: 100, 101: 101}
        assert table.sizes == {100: 10.0, 101: 10.1}
        assert table.managed == 10.0 + 10.1
        first, second = table.take(), table.take()
        # Both inputs of the first came in one arrival: one entry, in which 100 counts once.
        assert first[4].arrivals == [(one, 10.0 + 10.1)]
        assert second[4].arrivals == [(one, 0.0)]
        assert [entry[4].inputs_at for entry in (first, second)] == [3.5, 3.5]
        assert [entry[4].ready_at for entry in (first, second)] == [0.0, 0.0]
        assert [entry[3] for entry in (first, second)] == [(100, 101, 100), (101,)]

    def test_two_arrivals_are_two_entries_and_the_last_one_is_the_time(self):
        table = TaskTable(ME)
        fetches, _ = assign(table, (1, 1, [100, 101]), holders={100: PEER, 101: 5})
        early, late = Arrival(PEER, 0, 0, 1.0, 0), Arrival(5, 0, 0, 2.0, 0)
        assert table.arrived([(fetches[0], "a", 3.0)], early) == ([(100, 3.0)], 0)
        assert table.take() is None
        assert table.arrived([(fetches[1], "b", 4.0)], late) == ([(101, 4.0)], 1)
        waited = table.take()[4]
        assert waited.arrivals == [(early, 3.0), (late, 4.0)] and waited.inputs_at == 2.0

    def test_what_is_kept_counts_until_it_is_released(self):
        table = TaskTable(ME)
        assign(table, (1, 1, []), (2, 2, []))
        first, second = table.take(), table.take()
        table.store(first[2], "one", 8.0, 1.0)
        table.store(second[2], "two", 16.0, 2.0)
        table.adopt(9, "nine", 32.0, 3.0)
        assert table.managed == 56.0
        table.replace(1, "one again", 2.0)
        assert table.managed == 50.0
        # The replaced one is the newest.
        assert list(table.values.items()) == [(2, "two"), (9, "nine"), (1, "one again")]
        assert table.release([2, 1, 77]) == []
        assert table.dropped == ["two", "one again"]
        assert (table.values, table.sizes, table.managed) == ({9: "nine"}, {9: 32.0}, 32.0)
        table.adopt(9, "other", 1.0, 4.0)
        assert table.managed == 1.0

    def test_ready_when_the_last_input_made_here_was_made(self):
        table = TaskTable(ME)
        rows = [row(1, 1), row(2, 2), (3, 3, 1, NONE_U32, 0, 1, 0, 0, 2.0, 5.0, 0)]
        table.assign(rows, [1, 2], [ME, ME], [0.0, 0.0])
        entries = [table.take(), table.take()]
        assert [entry[2] for entry in entries] == rows[:2] and table.take() is None
        assert table.store(entries[0][2], "a", 1.0, 4.0) == 0
        (waiting,) = table.waiters[2]
        # It was ready before anything was made here, as far as the scheduler knew.
        assert waiting.ready_at == 5.0
        assert table.store(entries[1][2], "b", 1.0, 6.0) == 1
        entry = table.take()
        assert entry[4] is waiting
        assert (waiting.ready_at, waiting.inputs_at) == (6.0, 6.0)

    def test_of_equals_the_first_that_came_is_taken_first(self):
        table = TaskTable(ME)
        fetches, _ = table.assign([row(1, 1)], [100], [PEER], [1.0])
        table.assign([row(2, 2), row(3, 3)])
        table.arrived([(fetches[0], "v", 1.0)], Arrival(PEER, 0, 0, 0, 0))
        table.assign([row(4, 4), row(5, 5, -1.0)])
        assert [take(table) for _ in range(5)] == [5, 2, 3, 1, 4]

    def test_priority_decides_whether_inputs_are_here_or_come(self):
        table = TaskTable(ME)
        table.adopt(50, "here", 4.0, 0.0)
        rows = [row(1, 1, 9.0, 0), row(2, 2, 1.0, 1), row(3, 3, 5.0, 2), row(4, 4, 3.0, 3)]
        fetches, _ = table.assign(rows, [50, 50, 100, 100], [ME, ME, PEER, PEER], [1.0] * 4)
        table.arrived([(fetches[0], "v", 1.0)], Arrival(PEER, 0, 0, 0, 0))
        assert [take(table) for _ in range(5)] == [2, 4, 3, 1, None]

    def test_adopted_data_wakes_what_waits_for_it(self):
        table = TaskTable(ME)
        assign(table, (1, 1, [100]), holders={100: PEER})
        assert table.adopt(100, "data", 8.0, 7.0) == 1
        entry = table.take()
        assert entry[4].inputs_at == 7.0 and entry[4].arrivals == []


class TestAnswers:
    def test_what_nobody_waits_for_any_more_stands_before_what_is_waited_for(self):
        table = TaskTable(ME)
        fetches, _ = assign(
            table,
            (1, 1, [100]),
            (2, 2, [101]),
            (3, 3, [102]),
            holders={100: PEER, 101: PEER, 102: PEER},
        )
        table.release([1, 100])
        # A client put this input here meanwhile: nobody waits for the answer.
        assert table.adopt(101, "data", 8.0, 0.0) == 1
        replicas, woken = table.arrived(
            [(fetch, "v", 1.0) for fetch in fetches], Arrival(PEER, 0, 0, 0, 0)
        )
        assert (replicas, woken) == ([(101, 1.0), (102, 1.0)], 1)
        assert [take(table) for _ in range(3)] == [2, 3, None] and not table.fetches

    def test_what_was_taken_back_stands_before_what_wakes(self):
        table = TaskTable(ME)
        fetches, _ = assign(table, (1, 1, [100]), (2, 2, [100]), holders={100: PEER})
        assert table.take_back(1, 1) == (True, [])
        arrival = Arrival(PEER, 0, 0, 0, 0)
        assert table.arrived([(fetches[0], "v", 1.0)], arrival) == ([(100, 1.0)], 1)
        assert [take(table), take(table)] == [2, None]


class TestLosses:
    """Who is told, when an input does not come, which one it was and who was asked."""

    def test_all_that_are_gone_are_named_with_their_holder(self):
        table = TaskTable(ME)
        table.adopt(50, "here", 4.0, 0.0)
        only = row(1, 1)
        fetches, lacking = table.assign(
            [only], [7, 50, 100, 8], [ME, ME, PEER, ME], [1.0, 1.0, 1.0, 1.0]
        )
        assert (fetches, lacking) == ([], [(only, [(7, ME), (8, ME)])])
        assert not table.queued and not table.waiters

    def test_a_peer_is_named_for_its_input_and_this_worker_for_what_would_follow(self):
        table = TaskTable(ME)
        fetches, _ = assign(
            table, (1, 1, [100]), (2, 2, [1]), (3, 3, [101]), holders={100: PEER, 101: PEER}
        )
        lacking = table.not_there(fetches[0])
        assert [(r[0], lost) for r, lost in lacking] == [(1, [(100, PEER)]), (2, [(1, ME)])]
        assert table.not_there(fetches[0]) == []
        assert list(table.fetches) == [101] and list(table.queued) == [3]
        table.check()

    def test_a_failed_run_takes_what_waits_for_it_along_once(self):
        table = TaskTable(ME)
        assign(table, (1, 1, []), (2, 2, [1]), (3, 3, [1, 1]))
        entry = table.take()
        assert table.failed(row(1, 9)) == []
        lacking = table.failed(entry[2])
        assert [(r[0], lost) for r, lost in lacking] == [(2, [(1, ME)]), (3, [(1, ME)])]
        assert table.failed(entry[2]) == [] and not table.running
        table.check()

    def test_released_inputs_are_told_to_those_that_stay(self):
        table = TaskTable(ME)
        assign(table, (1, 1, []), (2, 2, [1]), (3, 3, [1]), (4, 4, []))
        lacking = table.release([1, 2])
        assert [(r[0], lost) for r, lost in lacking] == [(3, [(1, ME)])]
        assert take(table) == 4 and take(table) is None
        table.check()

    def test_taken_back_with_what_waits_for_it(self):
        table = TaskTable(ME)
        assign(table, (1, 1, []), (2, 2, [1]))
        taken, lacking = table.take_back(1, 1)
        assert taken and [(r[0], lost) for r, lost in lacking] == [(2, [(1, ME)])]
        assert table.take_back(1, 1) == (False, [])

    def test_the_result_of_another_run_is_not_kept(self):
        table = TaskTable(ME)
        assign(table, (1, 1, []))
        entry = table.take()
        assert table.store(row(1, 2), "other", 8.0, 1.0) == 0 and not table.values
        assert table.store(entry[2], "own", 8.0, 1.0) == 0 and table.values == {1: "own"}


class TableMachine(RuleBasedStateMachine):
    """Random assignments, ends, releases and answers; every run ends exactly once."""

    def __init__(self):
        super().__init__()
        self.table = TaskTable(ME)
        self.next_run = 0
        self.next_task = 0
        self.open_runs: dict[int, int] = {}
        self.on_threads = []
        self.fetches: list[Fetch] = []
        self.now = 0.0

    def _lost(self, lacking):
        for lost_row, lost in lacking:
            assert lost
            assert self.open_runs.pop(lost_row[1]) == lost_row[0]

    @rule(data=st.data(), count=st.integers(1, 5))
    def assign(self, data, count):
        rows, dependencies, holders = [], [], []
        known = [*self.table.values, *self.table.queued, *self.table.running]
        mine = []
        for _ in range(count):
            self.next_task += 1
            self.next_run += 1
            first = len(dependencies)
            for _ in range(data.draw(st.integers(0, 3))):
                kind = data.draw(st.sampled_from(["here", "peer", "nowhere"]))
                pool = known + mine
                if kind == "here" and pool:
                    dependencies.append(data.draw(st.sampled_from(pool)))
                    holders.append(ME)
                elif kind == "peer":
                    dependencies.append(data.draw(st.integers(1000, 1005)))
                    holders.append(PEER)
                elif kind == "nowhere" and data.draw(st.integers(0, 9)) == 0:
                    dependencies.append(999)
                    holders.append(ME)
            priority = data.draw(st.integers(0, 3))
            rows.append(row(self.next_task, self.next_run, float(priority), first))
            mine.append(self.next_task)
            self.open_runs[self.next_run] = self.next_task
        fetches, lacking = self.table.assign(rows, dependencies, holders, [1.0] * len(dependencies))
        self.fetches += fetches
        self._lost(lacking)

    @rule()
    def take(self):
        entry = self.table.take()
        if entry is None:
            return
        if all(each in self.table.values for each in entry[3]):
            self.on_threads.append(entry[2])
        else:
            self._input_was_released(entry[2])

    def _input_was_released(self, taken):
        """What an executor does then."""
        self._lost(self.table.failed(taken))
        del self.open_runs[taken[1]]

    @precondition(lambda self: self.on_threads)
    @rule(data=st.data(), ok=st.booleans())
    def end(self, data, ok):
        ended = self.on_threads.pop(data.draw(st.integers(0, len(self.on_threads) - 1)))
        self.now += 1
        if ok:
            self.table.store(ended, f"{ended[1]}", 4.0, self.now)
        else:
            self._lost(self.table.failed(ended))
        self.open_runs.pop(ended[1], None)

    @precondition(lambda self: self.fetches)
    @rule(data=st.data(), ok=st.booleans())
    def answer(self, data, ok):
        fetch = self.fetches.pop(data.draw(st.integers(0, len(self.fetches) - 1)))
        if ok:
            self.table.arrived([(fetch, "v", 2.0)], Arrival(PEER, 0, 0, 0, 0))
        else:
            self._lost(self.table.not_there(fetch))

    @precondition(lambda self: self.table.values or self.open_runs)
    @rule(data=st.data())
    def release(self, data):
        pool = sorted({*self.table.values, *self.open_runs.values()})
        released = data.draw(st.lists(st.sampled_from(pool), max_size=3, unique=True))
        lacking = self.table.release(released)
        for run_id, task_id in list(self.open_runs.items()):
            if task_id in released:
                del self.open_runs[run_id]
        self._lost(lacking)

    @precondition(lambda self: self.open_runs)
    @rule(data=st.data())
    def take_back(self, data):
        run_id = data.draw(st.sampled_from(sorted(self.open_runs)))
        taken, lacking = self.table.take_back(self.open_runs[run_id], run_id)
        if taken:
            del self.open_runs[run_id]
        self._lost(lacking)

    @invariant()
    def consistent(self):
        self.table.check()

    def teardown(self):
        """Once everything is answered and run, nothing is left over."""
        for fetch in self.fetches:
            self.table.arrived([(fetch, "v", 2.0)], Arrival(PEER, 0, 0, 0, 0))
        for ended in self.on_threads:
            self.table.store(ended, "v", 1.0, self.now)
            self.open_runs.pop(ended[1], None)
        while (entry := self.table.take()) is not None:
            if any(each not in self.table.values for each in entry[3]):
                self._input_was_released(entry[2])
            else:
                self.table.store(entry[2], "v", 1.0, self.now)
                del self.open_runs[entry[2][1]]
        assert not self.table.queued, self.table.queued
        assert not self.open_runs


TableMachine.TestCase.settings = settings(
    max_examples=2 * settings.default.max_examples, stateful_step_count=30, deadline=None
)
TestMachine = TableMachine.TestCase
