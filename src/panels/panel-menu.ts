/** A menu at a toolbar button. It lives while it is open; its commands are its own. */
import { MenuSvg } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import { shownText } from '../base/shown-text';

export type MenuItem = {
  readonly label: string;
  /** For a switch: whether it is on. */
  readonly isToggled?: boolean;
  readonly disabledBecause?: string;
  readonly run: () => void;
};

/** Opens under `button` and gives the focus back to it. */
export function openMenu(
  button: HTMLElement,
  items: readonly (MenuItem | 'separator')[]
): void {
  const commands = new CommandRegistry();
  // JupyterLab's, which draws a check at what is on.
  const menu = new MenuSvg({ commands });
  menu.addClass('sw-menu');
  items.forEach((item, index) => {
    if (item === 'separator') {
      menu.addItem({ type: 'separator' });
      return;
    }
    const command = `item-${index}`;
    commands.addCommand(command, {
      label: shownText(item.label),
      caption: shownText(item.disabledBecause ?? ''),
      describedBy: { args: { type: 'object', properties: {} } },
      isEnabled: () => item.disabledBecause === undefined,
      isToggleable: item.isToggled !== undefined,
      isToggled: () => item.isToggled === true,
      execute: item.run
    });
    menu.addItem({ command });
  });
  button.setAttribute('aria-expanded', 'true');
  menu.aboutToClose.connect(() => {
    button.setAttribute('aria-expanded', 'false');
    button.focus();
    // The menu runs the chosen command after it has closed.
    requestAnimationFrame(() => menu.dispose());
  });
  const { left, bottom } = button.getBoundingClientRect();
  menu.open(left, bottom + 2);
}
