/** Keeps the page's shade and the canvases' palette in step with JupyterLab's theme. */
import { type ISignal, Signal } from '@lumino/signaling';
import { type Palette, readPalette, setShade } from '../charts/theme';
import type { ITheme } from '../panels/panel-context';

export class ThemeShade implements ITheme {
  private _palette: Palette;
  private readonly _changed = new Signal<this, Palette>(this);

  constructor(private readonly _body: HTMLElement) {
    this._palette = this._read();
  }

  get palette(): Palette {
    return this._palette;
  }

  get changed(): ISignal<this, Palette> {
    return this._changed;
  }

  /** The theme's style sheet is in place: read its colours. */
  refresh(): void {
    this._palette = this._read();
    this._changed.emit(this._palette);
  }

  private _read(): Palette {
    const palette = readPalette(this._body);
    setShade(this._body, palette.shade);
    return palette;
  }
}
