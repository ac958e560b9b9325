/**
 * What a panel shows instead of, or above, its figures: an empty or broken state (icon, title, one sentence, at most three buttons), and
 * the 30 px strip for what holds beside figures (reconnecting, ended, dropped). The sentences are in panel-states.tsx.
 */
import { Clipboard } from '@jupyterlab/apputils';
import { caretDownEmptyIcon, type LabIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import type { Trans } from '../base/trans';
import { warningIcon } from './icons';
import { ToldText } from './marked-text';
import { useIsCut } from './use-is-cut';

export type StateButton = {
  readonly label: string;
  readonly onClick: () => void;
  /** Why it cannot act now. It stays focusable and says so. */
  readonly disabledBecause?: string;
  /** For a switch: whether it is on. */
  readonly pressed?: boolean;
  /** What it does, where its label leaves that open. */
  readonly hint?: string;
  /** A part of the label, shown in its place where there is little room. */
  readonly short?: string;
};

export type PanelState = {
  readonly icon?: LabIcon;
  readonly title: string;
  /** One sentence; `code` parts as elements. */
  readonly sentence: React.ReactNode;
  /** At most three; the first is the primary one. */
  readonly buttons?: readonly StateButton[];
  /** A broken state is announced at once. */
  readonly broken?: boolean;
  /** It says what waits in vain, and what to do: no strip above it repeats that. */
  readonly tellsWhatWaits?: true;
};

export type PanelStrip = {
  readonly key: string;
  readonly icon?: LabIcon;
  /** `warning` is tinted and has its own icon; `neutral` is grey. */
  readonly tone: 'neutral' | 'warning';
  readonly sentence: string;
  /** Explanation and advice, opened by a button of the strip. */
  readonly details?: {
    readonly label: string;
    readonly lines: readonly string[];
    /** What the lines say is to be done, each with a button that copies it. */
    readonly commands?: readonly string[];
  };
  readonly button?: StateButton;
};

export function StateView(props: { readonly state: PanelState }): JSX.Element {
  const { icon: Icon, title, sentence, buttons = [], broken } = props.state;
  return (
    <div className="sw-state" role={broken ? 'alert' : 'status'}>
      {Icon && <Icon.react tag="span" className="sw-state-icon" />}
      <div className="sw-state-title">{title}</div>
      <div className="sw-state-sentence">{sentence}</div>
      {buttons.length > 0 && (
        <div className="sw-state-buttons">
          {buttons.slice(0, 3).map((button, index) => (
            <StateAction
              key={button.label}
              button={button}
              className={
                index === 0 ? 'sw-button sw-button-primary' : 'sw-button'
              }
            />
          ))}
        </div>
      )}
    </div>
  );
}

/** One line; what of its sentence has no room is opened by a button, for there is no pointer at every keyboard. */
export function StateStrip(props: {
  readonly strip: PanelStrip;
  readonly trans: Trans;
}): JSX.Element {
  const { tone, sentence, details, button } = props.strip;
  const { trans } = props;
  const Icon = tone === 'warning' ? warningIcon : props.strip.icon;
  const [isOpen, setIsOpen] = React.useState(false);
  const [isWhole, setIsWhole] = React.useState(false);
  const said = React.useRef<HTMLSpanElement>(null);
  const isCut = useIsCut(said, sentence, isWhole);
  // Who has just closed it is at the button, also where there is room for all by now.
  const [hasFocus, setHasFocus] = React.useState(false);
  const about = React.useId();
  const opener = React.useRef<HTMLButtonElement>(null);
  const onKeyDown = (event: React.KeyboardEvent): void => {
    if (event.key === 'Escape' && isOpen) {
      event.stopPropagation();
      setIsOpen(false);
      opener.current?.focus();
    }
  };
  return (
    <>
      <div
        className="sw-strip"
        onKeyDown={onKeyDown}
        data-tone={tone}
        data-whole={isWhole || undefined}
        role="status"
      >
        {Icon && <Icon.react tag="span" className="sw-strip-icon" />}
        <span
          ref={said}
          className="sw-strip-sentence"
          title={[sentence, ...(details?.lines ?? [])].join('\n')}
        >
          {sentence}
        </span>
        {(isCut || hasFocus) && (
          <button
            type="button"
            className="sw-strip-whole"
            aria-expanded={isWhole}
            aria-label={trans.__('Whole sentence')}
            title={sentence}
            onFocus={() => setHasFocus(true)}
            onBlur={() => setHasFocus(false)}
            onClick={() => setIsWhole(!isWhole)}
          >
            <caretDownEmptyIcon.react tag="span" className="sw-strip-icon" />
          </button>
        )}
        {details && (
          <button
            ref={opener}
            type="button"
            className="sw-link"
            aria-expanded={isOpen}
            aria-controls={isOpen ? about : undefined}
            title={details.lines.join('\n')}
            onClick={() => setIsOpen(!isOpen)}
          >
            {details.label}
          </button>
        )}
        {button && <StateAction button={button} className="sw-link" />}
      </div>
      {details && isOpen && (
        <div
          id={about}
          className="sw-strip-details"
          data-tone={tone}
          onKeyDown={onKeyDown}
        >
          {details.lines.map(line => (
            <p key={line}>
              <ToldText text={line} commands={details.commands ?? []} />
            </p>
          ))}
          {details.commands?.map(command => (
            <StateAction
              key={command}
              button={copyButton(command, trans)}
              className="sw-link"
            />
          ))}
        </div>
      )}
    </>
  );
}

/** Copies what is to be pasted, as it is: what is shown of it may have characters written out. */
export function copyButton(command: string, trans: Trans): StateButton {
  return {
    label: trans.__('Copy command'),
    hint: command,
    onClick: () => Clipboard.copyToSystem(command)
  };
}

function StateAction(props: {
  readonly button: StateButton;
  readonly className: string;
}): JSX.Element {
  const { label, onClick, disabledBecause, pressed, hint, short } =
    props.button;
  return (
    <button
      type="button"
      className={props.className}
      aria-disabled={disabledBecause !== undefined || undefined}
      aria-label={short === undefined ? undefined : label}
      aria-pressed={pressed}
      data-short={short}
      title={disabledBecause ?? hint}
      onClick={() => {
        if (disabledBecause === undefined) {
          onClick();
        }
      }}
    >
      {short === undefined ? label : <span>{label}</span>}
    </button>
  );
}
