/**
 * JupyterLab's notices and dialogs, their texts as `shownText` has them: most have names of users, addresses that somebody gave, or what an
 * error says. eslint lets no other file import them.
 */
import {
  type Dialog,
  InputDialog,
  Notification,
  showDialog
} from '@jupyterlab/apputils';
import { shownText } from '../base/shown-text';

type Options = Notification.IOptions<null>;

export const notices = {
  info: (text: string, options: Options): string =>
    Notification.info(shownText(text), options),
  warning: (text: string, options: Options): string =>
    Notification.warning(shownText(text), options),
  /** Why what the user has clicked was not done. Without an end JupyterLab lists it and does not show it. */
  refusal: (text: string): string =>
    Notification.warning(shownText(text), { autoClose: 8000 }),
  error: (text: string, options: Options): string =>
    Notification.error(shownText(text), options),
  /** Of what is under way. @returns its id */
  begin: (text: string, options: Options): string =>
    Notification.emit(shownText(text), 'in-progress', options),
  update: (changed: Notification.IUpdate<null>): boolean =>
    Notification.update(
      changed.message === undefined
        ? changed
        : { ...changed, message: shownText(changed.message) }
    ),
  dismiss: (id: string): void => Notification.dismiss(id)
};

/** A dialog. What is in a widget is the widget's own. */
export function openDialog<T>(
  options: Partial<Dialog.IOptions<T>> & { readonly title: string }
): Promise<Dialog.IResult<T>> {
  const { title, body } = options;
  return showDialog<T>({
    ...options,
    title: shownText(title),
    ...(typeof body === 'string' ? { body: shownText(body) } : {})
  });
}

/** @returns null: the user gives none. */
export async function askNumber(
  options: InputDialog.INumberOptions & { readonly title: string }
): Promise<number | null> {
  const { value } = await InputDialog.getNumber({
    ...options,
    title: shownText(options.title)
  });
  return value;
}
