/**
 * Runs in the browser, inside an HTML file of `spanwise/observed/page_file.py`: unpacks what the file holds and shows it. Nothing is loaded; the
 * file's content policy forbids every connection.
 */
import { shownText } from '../../base/shown-text';
import { assertUnreachable } from '../../base/assert';
import type { PageContent, TableSection, TextSection } from '../content';
import { curvesElement } from './curves-section';
import { element } from './elements';
import { profileElement } from './profile-section';
import { styleSheet } from './styles';
import { tableOf } from './table';
import { taskStreamElement } from './task-stream-section';
import { unpacked } from './unpack';

type Section = PageContent['sections'][number];

function bodyOf(section: Section): HTMLElement {
  switch (section.kind) {
    case 'profile':
      return profileElement(section);
    case 'task-stream':
      return taskStreamElement(section);
    case 'curves':
      return curvesElement(section);
    case 'table':
      return tableElement(section);
    case 'text':
      return textElement(section);
    default:
      return assertUnreachable(section);
  }
}

function tableElement({
  columns,
  rows,
  depths,
  title
}: TableSection): HTMLElement {
  return tableOf(
    columns,
    rows.map((cells, index) => ({ cells, depth: depths?.[index] })),
    title
  );
}

function textElement({ text }: TextSection): HTMLElement {
  return element('pre', {}, text);
}

function sectionElement(section: Section, index: number): HTMLElement {
  const id = `section-${index}`;
  const { title, note, missing } = section;
  return element(
    'section',
    { 'aria-labelledby': id, 'data-kind': section.kind },
    element('h2', { id }, title),
    ...(note ? [element('p', { class: 'note' }, note)] : []),
    missing
      ? element('p', { class: 'missing' }, `No data: ${missing}.`)
      : bodyOf(section)
  );
}

function fail(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  document.getElementById('problem')!.textContent = shownText(
    `The page could not be shown: ${message}`
  );
}

async function main(): Promise<void> {
  document.head.append(element('style', {}, styleSheet()));
  const packed = document.getElementById('content')!.textContent ?? '';
  const content = (await unpacked(packed)) as PageContent;
  const page = document.getElementById('page')!;
  page.append(
    element('h1', {}, content.title),
    element(
      'p',
      { class: 'about' },
      ...content.facts.map(([name, text]) =>
        element('span', {}, `${name}: ${text}`)
      )
    )
  );
  content.sections.forEach((section, index) => {
    page.append(sectionElement(section, index));
  });
  page.dataset['shown'] = String(content.sections.length);
}

main().catch(fail);
