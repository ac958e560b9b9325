/** What stands beside the lane of a worker that has one, in place of a header. */
import { renderToStaticMarkup } from 'react-dom/server';
import { createElement } from '../../../charts/shown-element';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import { english } from '../../../testing/translators';
import { workerHeaders } from '../rows';
import { LoneLaneHead } from '../worker-head';

const plain = (text: string | null | undefined) =>
  text?.replaceAll('\u00a0', ' ');
const result = ask(
  drawRuns(
    `
    0/0  aaaabbb..c
    1/0  dddddddddd
    `
  ),
  'task-stream',
  { ended: true }
);
const known = result.workers[0]!;

function headOf({
  height,
  left = null,
  standing
}: {
  readonly height: number;
  readonly left?: number | null;
  readonly standing?: { readonly text: string; readonly word: string };
}) {
  const of = { ...result, workers: [{ ...known, left }] };
  const [header] = workerHeaders(
    of,
    english,
    new Map(standing === undefined ? [] : [[known.worker, standing]])
  );
  const page = document.createElement('div');
  page.innerHTML = renderToStaticMarkup(
    <LoneLaneHead
      worker={known.worker}
      header={header}
      height={height}
      onToggle={() => undefined}
    />
  );
  const head = page.querySelector<HTMLElement>('.sw-TaskStream-loneLane')!;
  const seen = (part: string) =>
    plain(head.querySelector(`.sw-TaskStream-${part}`)?.textContent);
  // As a screen reader has it: what is not hidden from it.
  const said = head.cloneNode(true) as HTMLElement;
  said.querySelectorAll('[aria-hidden]').forEach(each => each.remove());
  return {
    head,
    name: seen('laneWord'),
    text: seen('loneLaneText'),
    mark: seen('workerStanding'),
    said: plain(said.textContent),
    title: plain(head.title)
  };
}

it('has the name and how busy the worker was, in two lines where there is room', () => {
  const high = headOf({ height: 28 });
  expect([high.name, high.text]).toEqual(['worker 0', 'busy 80 %']);
  const low = headOf({ height: 27 });
  expect([low.name, low.text]).toEqual(['worker 0', '80 %']);
  expect([high.head.dataset.lines, low.head.dataset.lines]).toEqual(['2', '1']);
  expect([high.head, low.head].map(({ style }) => style.height)).toEqual([
    '28px',
    '27px'
  ]);
});

it('says all that a header says to who points at it, and to screen readers', () => {
  for (const height of [14, 43]) {
    const { title, said } = headOf({ height });
    expect(title).toMatch(
      /^worker 0\n1 thread · busy 80 % · .*\nBusy: tasks held the threads for 8\.00 s of the 10\.0 s /s
    );
    expect(said).toMatch(/^worker 0\s?1 thread · busy 80 %/);
  }
});

it('has in a word why the worker begins no task, and in whole in its title', () => {
  const standing = { text: 'paused: memory full', word: 'paused' };
  for (const height of [14, 43]) {
    const { mark, title, said, text } = headOf({ height, standing });
    expect(mark).toBe('paused');
    expect(text).toMatch(/80 %$/);
    expect(text).not.toContain('busy');
    expect(title).toContain('worker 0\npaused: memory full · 1 thread');
    expect(said).toContain('paused: memory full · 1 thread');
  }
});

it('says that the worker has left, and when where there is room', () => {
  expect(headOf({ height: 43, left: 12 }).text).toBe('left at 12.0 s');
  expect(headOf({ height: 14, left: 12 }).text).toBe('left');
});

it('folds the worker by its name', () => {
  const { head } = headOf({ height: 14 });
  const [button] = head.querySelectorAll('button');
  expect(button!.getAttribute('aria-expanded')).toBe('true');
  expect(button!.className).toBe('sw-TaskStream-workerName');
});
