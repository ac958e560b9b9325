import { DockPanel, Widget } from '@lumino/widgets';
import { defaultLayout } from '../default-layout';
import { notebookInAddress, isLayoutAsked } from '../requested-layout';

type Area = ReturnType<typeof defaultLayout>['main'];

function named(id: string): Widget {
  const widget = new Widget();
  widget.id = id;
  return widget;
}

/** `(a 0.42 | b 0.58)` for side by side, `/` for one above the other. */
function drawn(area: Area): string {
  if (area === null) {
    return '';
  }
  if (area.type === 'tab-area') {
    return area.widgets
      .map(({ id }, i) => (i === area.currentIndex ? `*${id}` : id))
      .join(',');
  }
  const mark = area.orientation === 'horizontal' ? ' | ' : ' / ';
  return `(${area.children.map((child, i) => `${drawn(child)} ${area.sizes[i]}`).join(mark)})`;
}

const four = () => ({
  'task-stream': [named('stream')],
  'fine-metrics': [named('fine')],
  profile: [named('profile')],
  memory: [named('memory')]
});

describe('the default layout', () => {
  it('has the notebook left and the panels around it', () => {
    const notebook = named('notebook');
    const { main } = defaultLayout(
      four(),
      [named('launcher'), notebook],
      notebook
    );
    expect(drawn(main)).toBe(
      '((launcher,*notebook 0.7 / *memory 0.3) 0.4 | (*stream 0.48 / (*fine 0.5 | *profile 0.5) 0.52) 0.6)'
    );
  });

  it('leaves no hole where a panel or the notebook is missing', () => {
    const { memory, ...three } = four();
    expect(drawn(defaultLayout(three, [], null).main)).toBe(
      '(*stream 0.48 / (*fine 0.5 | *profile 0.5) 0.52)'
    );
    expect(drawn(defaultLayout({ memory }, [], null).main)).toBe('*memory');
    expect(defaultLayout({}, [], null).main).toBeNull();
  });

  it('has other panels in tabs behind those of their kind', () => {
    const stack = [named('stream'), named('pinned')];
    expect(drawn(defaultLayout({ 'task-stream': stack }, [], null).main)).toBe(
      '*stream,pinned'
    );
  });

  it('is one that a dock panel takes', () => {
    const dock = new DockPanel();
    Widget.attach(dock, document.body);
    const notebook = named('notebook');
    dock.addWidget(notebook);
    const panels = four();
    dock.restoreLayout(defaultLayout(panels, [notebook], notebook));
    expect([...dock.widgets()].map(({ id }) => id)).toEqual([
      'notebook',
      'memory',
      'stream',
      'fine',
      'profile'
    ]);
    dock.dispose();
  });
});

describe('a layout asked for in the address', () => {
  it('is read from the query', () => {
    expect(isLayoutAsked('?spanwise=default-layout&token=x')).toBe(true);
    expect(isLayoutAsked('?spanwise=other')).toBe(false);
    expect(isLayoutAsked('')).toBe(false);
  });

  it('names the notebook of the path', () => {
    expect(
      notebookInAddress('/user/a/lab/workspaces/x/tree/my%20work/a.ipynb')
    ).toBe('my work/a.ipynb');
    expect(notebookInAddress('/lab')).toBeUndefined();
    expect(notebookInAddress('/lab/tree/notes.md')).toBeUndefined();
  });
});
