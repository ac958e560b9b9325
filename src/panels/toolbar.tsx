/**
 * The controls that panels' toolbars are made of. Each is 24 px high, has an accessible name, and stays focusable when it cannot act.
 */
import {
  caretDownEmptyIcon,
  type LabIcon,
  searchIcon
} from '@jupyterlab/ui-components';
import * as React from 'react';
import { createElement } from '../charts/shown-element';

type ToolButtonProps = {
  /** The accessible name, and the tooltip of a button that shows only its icon. */
  readonly label: string;
  /** In place of the label as the tooltip: of a button whose next click does another thing. */
  readonly tooltip?: string;
  readonly icon?: LabIcon;
  /** Shown beside the icon. */
  readonly text?: string;
  /** For a switch: whether it is on. */
  readonly pressed?: boolean;
  readonly hasMenu?: boolean;
  readonly disabledBecause?: string;
  /** What it does now, e.g. `Restarting…`: it is shown in the place of `text`. */
  readonly busyText?: string;
  readonly shortcut?: string;
  /** Extra classes, e.g. those that hide it in a narrow panel. */
  readonly className?: string;
  /** For one that is given the focus. */
  readonly buttonRef?: React.Ref<HTMLButtonElement>;
  onClick(event: React.MouseEvent<HTMLButtonElement>): void;
};

export function ToolButton(props: ToolButtonProps): JSX.Element {
  const { label, icon: Icon, pressed, disabledBecause, busyText } = props;
  const text = busyText ?? props.text;
  const shortcut = props.shortcut ? ` (${props.shortcut})` : '';
  return (
    <button
      ref={props.buttonRef}
      type="button"
      className={`sw-tool${text ? ' sw-tool-text' : ''} ${props.className ?? ''}`}
      aria-label={label}
      aria-pressed={pressed}
      aria-haspopup={props.hasMenu ? 'menu' : undefined}
      aria-busy={busyText !== undefined || undefined}
      aria-disabled={disabledBecause !== undefined || undefined}
      aria-keyshortcuts={props.shortcut}
      title={
        disabledBecause
          ? `${label}: ${disabledBecause}`
          : (props.tooltip ?? label) + shortcut
      }
      onClick={event => {
        if (disabledBecause === undefined) {
          props.onClick(event);
        }
      }}
    >
      {busyText !== undefined ? (
        <span className="sw-tool-spinner" aria-hidden="true" />
      ) : (
        Icon && <Icon.react tag="span" className="sw-tool-icon" />
      )}
      {text && <span>{text}</span>}
    </button>
  );
}

type ChoiceProps<T extends string> = {
  /** The accessible name, e.g. `Unit`. */
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly value: T;
  readonly className?: string;
  onChange(value: T): void;
};

/** A segmented control: one of a few; arrows move, as in every radio group. */
export function RadioGroup<T extends string>(
  props: ChoiceProps<T>
): JSX.Element {
  const { options, value } = props;
  const group = React.useRef<HTMLDivElement>(null);
  const move = (event: React.KeyboardEvent, step: number) => {
    event.preventDefault();
    event.stopPropagation();
    const index = options.findIndex(option => option.value === value);
    const next = (index + step + options.length) % options.length;
    const option = options[next];
    if (option) {
      props.onChange(option.value);
      (group.current?.children[next] as HTMLElement | undefined)?.focus();
    }
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'ArrowRight' || event.key === 'ArrowDown') {
      move(event, 1);
    } else if (event.key === 'ArrowLeft' || event.key === 'ArrowUp') {
      move(event, -1);
    }
  };
  return (
    <div
      ref={group}
      className={`sw-radios ${props.className ?? ''}`}
      role="radiogroup"
      aria-label={props.label}
      onKeyDown={onKeyDown}
    >
      {options.map(option => (
        <button
          key={option.value}
          type="button"
          role="radio"
          className="sw-radio"
          aria-checked={option.value === value}
          tabIndex={option.value === value ? 0 : -1}
          onClick={() => props.onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}

/**
 * A combobox. A native select: keyboard, touch and screen readers know it. Each option says what it chooses, e.g. `Colour: function`: the chosen
 * one stands alone in the toolbar.
 */
export function ToolSelect<T extends string>(
  props: ChoiceProps<T>
): JSX.Element {
  return (
    <span className={`sw-select ${props.className ?? ''}`}>
      <select
        aria-label={props.label}
        title={props.label}
        value={props.value}
        onChange={event => props.onChange(event.target.value as T)}
      >
        {props.options.map(option => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      <caretDownEmptyIcon.react tag="span" className="sw-select-caret" />
    </span>
  );
}

type SearchBoxProps = {
  /** Accessible name and placeholder, e.g. `Find key`. */
  readonly label: string;
  readonly value: string;
  /** e.g. `2 of 8`. */
  readonly count?: string;
  readonly className?: string;
  onChange(value: string): void;
  onEnter?(): void;
};

/** Escape empties it first and lets the key through when it is empty. */
export function SearchBox(props: SearchBoxProps): JSX.Element {
  return (
    <span className={`sw-search ${props.className ?? ''}`}>
      <searchIcon.react tag="span" className="sw-search-icon" />
      <input
        type="search"
        role="searchbox"
        aria-label={props.label}
        placeholder={props.label}
        spellCheck={false}
        value={props.value}
        onChange={event => props.onChange(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Enter') {
            props.onEnter?.();
          } else if (event.key === 'Escape' && props.value !== '') {
            event.stopPropagation();
            props.onChange('');
          }
        }}
      />
      {props.count && <span className="sw-search-count">{props.count}</span>}
    </span>
  );
}
