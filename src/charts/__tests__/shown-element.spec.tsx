import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as React from 'react';
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { withColours } from '../figure-colours';
import { elided } from '../elided-text';
import { createElement } from '../shown-element';

const TURNED = 'load\u202egnp.exe';
const SHOWN = 'load\\u202egnp.exe';

function Named(props: { readonly name: string; children?: React.ReactNode }) {
  return (
    <b title={props.name} data-name={props.name}>
      {props.name}
      {props.children}
    </b>
  );
}

function drawn(view: JSX.Element): HTMLElement {
  const node = document.createElement('div');
  act(() => createRoot(node).render(view));
  return node;
}

describe('elements of React', () => {
  it('show what users wrote without anything hidden, and act on it as it is', () => {
    const node = drawn(
      <>
        {TURNED}
        <Named name={TURNED}>{TURNED}</Named>
        <i aria-label={TURNED}>{[TURNED, ' and more']}</i>
        <select aria-label="Functions" defaultValue={TURNED}>
          <option value={TURNED}>{TURNED}</option>
        </select>
        <input placeholder={TURNED} defaultValue={TURNED} />
      </>
    );
    expect(node.textContent).toBe(
      `${SHOWN}${SHOWN}${SHOWN}${SHOWN} and more${SHOWN}`
    );
    expect(node.querySelector('b')).toMatchObject({
      title: SHOWN,
      dataset: { name: TURNED }
    });
    expect(node.querySelector('i')!.getAttribute('aria-label')).toBe(SHOWN);
    expect(node.querySelector('select')!.value).toBe(TURNED);
    expect(node.querySelector('input')).toMatchObject({
      value: TURNED,
      placeholder: SHOWN
    });
  });

  it('are made in this way alone', () => {
    const source = join(__dirname, '../..');
    const others = readdirSync(source, { recursive: true, encoding: 'utf8' })
      .filter(name => /\.tsx?$/u.test(name) && !name.includes('__tests__'))
      .filter(name => !name.endsWith('shown-element.ts'))
      .filter(name =>
        /React\.createElement|jsx-runtime|@jsx/u.test(
          readFileSync(join(source, name), 'utf8')
        )
      );
    expect(others).toEqual([]);
  });
});

describe('charts', () => {
  it('show texts of users without anything hidden', () => {
    expect(
      withColours(
        { data: [{ name: TURNED, y: [TURNED], text: '--sw-kind-cpu' }] },
        () => '#123456'
      )
    ).toEqual({ data: [{ name: SHOWN, y: [SHOWN], text: '#123456' }] });
  });

  it('measure a name as it is drawn', () => {
    const letters = { measureText: (text: string) => ({ width: text.length }) };
    expect(elided(letters, TURNED, SHOWN.length)).toBe(SHOWN);
    expect(elided(letters, TURNED, TURNED.length)).toMatch(/^load.*…$/u);
  });
});
