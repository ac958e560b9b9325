import * as fc from 'fast-check';
import type { Filter } from '../../wire/panel-link';
import {
  type SelectionState,
  SelectionModel,
  selectionFromJSON
} from '../selection';

const load = { path: ['flow', 'data load'] };

function texts(model: SelectionModel): string[] {
  return model.conditions.map(condition =>
    condition.kind === 'time'
      ? `time ${JSON.stringify(condition.range)}`
      : `${condition.kind} ${condition.value}${condition.isTag ? ' (by tag)' : ''}`
  );
}

describe('SelectionModel', () => {
  it('says each condition, spans by their path', () => {
    const model = new SelectionModel();
    model.toggleSpan(load, 'any');
    model.toggleSpan({ tag: 'warm-up' }, 'not');
    model.toggleFunction('astype');
    model.toggleFunction('sum', true);
    model.toggleWorker(2);
    model.setTime({ from: 4.1, to: 21.3 });
    expect(texts(model)).toEqual([
      'any flow › data load',
      'not warm-up (by tag)',
      'function astype',
      'not function sum',
      'worker 2',
      'time {"from":4.1,"to":21.3}'
    ]);
  });

  it('tells one span by path from every span of a tag, and from another path', () => {
    const model = new SelectionModel();
    const tag = 'data loading';
    for (const term of [
      { path: ['Alice', tag] },
      { path: ['Bob', tag] },
      { path: [tag] },
      { tag }
    ]) {
      model.toggleSpan(term, 'any');
    }
    const said = texts(model);
    expect(said).toEqual([
      'any Alice › data loading',
      'any Bob › data loading',
      'any data loading',
      'any data loading (by tag)'
    ]);
  });

  it('picks one span by a click and clears it by the next', () => {
    const model = new SelectionModel();
    model.toggleSpan({ tag: 'a' }, 'any');
    model.toggleSpan({ tag: 'b' }, 'not');
    model.pickSpan(load);
    expect(texts(model)).toEqual(['any flow › data load', 'not b (by tag)']);
    model.pickSpan(load);
    expect(texts(model)).toEqual(['not b (by tag)']);
  });

  it('has a span in one list at most', () => {
    const model = new SelectionModel();
    model.toggleSpan(load, 'any');
    model.toggleSpan(load, 'not');
    expect(model.filter).toEqual({ spans: { not: [load] } });
    expect(model.matchOf(load)).toBe('not');
  });

  it('keeps the selected item when the filter is cleared, and makes it a filter when asked', () => {
    const model = new SelectionModel();
    model.select({ kind: 'function', name: 'astype' });
    expect(model.isFiltered).toBe(false);
    model.useSelectedAsFilter();
    model.clear();
    expect(model.selected).toEqual({ kind: 'function', name: 'astype' });
    expect(model.isFiltered).toBe(false);
    model.undo();
    expect(texts(model)).toEqual(['function astype']);
  });

  it('tells of each change once, and not of none', () => {
    const model = new SelectionModel();
    const told = jest.fn();
    model.changed.connect(told);
    model.setFilter({});
    model.clear();
    model.setTime('all');
    expect(told).not.toHaveBeenCalled();
    model.setFilter({ functions: [] });
    expect(told).not.toHaveBeenCalled();
    model.toggleWorker(1);
    expect(told).toHaveBeenCalledTimes(1);
  });

  const action = fc.oneof(
    fc.record({
      do: fc.constantFrom('any', 'all', 'not', 'pick'),
      path: fc.array(fc.constantFrom('a', 'b', '<img>'), {
        minLength: 1,
        maxLength: 3
      })
    }),
    fc.record({ do: fc.constant('function'), name: fc.string() }),
    fc.record({ do: fc.constant('worker'), worker: fc.nat(4) }),
    fc.record({ do: fc.constant('time'), from: fc.nat(9), to: fc.nat(9) })
  );

  function act(model: SelectionModel, step: Record<string, unknown>): void {
    const term = { path: (step.path ?? []) as string[] };
    switch (step.do) {
      case 'pick':
        return model.pickSpan(term);
      case 'function':
        return model.toggleFunction(step.name as string);
      case 'worker':
        return model.toggleWorker(step.worker as number);
      case 'time':
        return model.setTime({
          from: step.from as number,
          to: step.to as number
        });
      default:
        return model.toggleSpan(term, step.do as 'any' | 'all' | 'not');
    }
  }

  it('undoes any steps one by one', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 20 }), steps => {
        const model = new SelectionModel();
        const states: SelectionState[] = [model.state];
        model.changed.connect((_, state) => states.push(state));
        steps.forEach(step => act(model, step));
        const past = states.slice(0, -1).reverse();
        for (const state of past) {
          expect(model.canUndo).toBe(true);
          model.undo();
          expect(model.state).toEqual(state);
        }
        expect(model.canUndo).toBe(false);
      })
    );
  });

  it('is the same after a reload, and removing every condition leaves none', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 20 }), steps => {
        const model = new SelectionModel();
        steps.forEach(step => act(model, step));
        const saved: unknown = JSON.parse(JSON.stringify(model));
        const again = new SelectionModel(selectionFromJSON(saved));
        expect(again.state).toEqual(model.state);
        for (const { id } of again.conditions) {
          again.remove(id);
        }
        expect(again.filter).toEqual({});
        expect(again.time).toBe('all');
      })
    );
  });

  const names = fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 3 });
  const terms = fc.uniqueArray(
    fc.oneof(
      fc.record({ tag: fc.string() }),
      fc.record({ path: fc.array(fc.string(), { maxLength: 3 }) }),
      fc.record({
        path: fc.array(fc.string(), { maxLength: 3 }),
        id: fc.uuid(),
        pass: fc.string()
      })
    ),
    { minLength: 1, maxLength: 3, selector: term => JSON.stringify(term) }
  );
  /** Each field there is, whichever way it was set. */
  const anyState: fc.Arbitrary<SelectionState> = fc.record({
    filter: fc.record<Required<Filter>, never>(
      {
        spans: fc.oneof(
          ...(['any', 'all', 'not'] as const).map(match =>
            fc.record({ [match]: terms })
          )
        ),
        functions: names,
        notFunctions: names,
        workers: fc.uniqueArray(fc.nat(9), { minLength: 1, maxLength: 3 }),
        status: fc.shuffledSubarray(['ok', 'failed', 'lost'] as const, {
          minLength: 1
        })
      },
      { requiredKeys: [] }
    ),
    time: fc.oneof(
      fc.constant('all' as const),
      fc.record({ last: fc.nat(1000) }),
      fc.record({ from: fc.nat(9), to: fc.nat(9) })
    ),
    selected: fc.constant(null)
  });

  it('brings back each field of any filter, says it, and removes it alone', () => {
    fc.assert(
      fc.property(anyState, state => {
        const saved: unknown = JSON.parse(
          JSON.stringify(new SelectionModel(state))
        );
        expect(selectionFromJSON(saved)).toEqual(state);
        const model = new SelectionModel(state);
        const said = texts(model);
        model.conditions.forEach(({ id }, at) => {
          const without = new SelectionModel(state);
          without.remove(id);
          expect(texts(without)).toEqual(said.filter((_, i) => i !== at));
        });
        expect(said.length > 0).toBe(model.isFiltered);
      })
    );
  });

  it('reads anything without failing', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        const state = selectionFromJSON(value);
        expect(() => new SelectionModel(state).conditions).not.toThrow();
      })
    );
    expect(selectionFromJSON({ filter: { workers: ['x', 1] } }).filter).toEqual(
      {
        workers: [1]
      }
    );
  });
});
