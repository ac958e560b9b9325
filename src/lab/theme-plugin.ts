/** Gives panels the colours that fit the theme, and tells them when it changes. */
import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IThemeManager } from '@jupyterlab/apputils';
import type { ITheme } from '../panels/panel-context';
import { ThemeShade } from './theme-shade';
import { IThemeToken } from './tokens';

export const themePlugin: JupyterFrontEndPlugin<ITheme> = {
  id: '@spanwise/lab:theme',
  description: 'Provides the colours of charts that fit the page’s theme.',
  autoStart: true,
  provides: IThemeToken,
  optional: [IThemeManager],
  activate: (_app, themes: IThemeManager | null): ITheme => {
    const shade = new ThemeShade(document.body);
    themes?.themeChanged.connect(() => {
      // The signal comes with the new style sheet, whose properties are computed a frame later.
      requestAnimationFrame(() => shade.refresh());
    });
    return shade;
  }
};
