import { bracketing } from '../../../testing/translators';
import { Signal } from '@lumino/signaling';
import * as React from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { readPalette } from '../../../charts/theme';
import { SelectionModel } from '../../../feed/selection';
import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import type { ITheme } from '../../panel-context';
import { activityOf } from '../figure';
import { frameTree, THREAD_STATES } from '../rows';
import { ProfileView } from '../view';

it('legend and details of Profile are in the user’s language', () => {
  const result = ask(drawnStore(firstLook()), 'profile', { ended: true });
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const activity = activityOf(result);
  const theme = { palette: readPalette(document.body) } as ITheme;
  Object.assign(theme, { changed: new Signal(theme) });
  flushSync(() =>
    root.render(
      <ProfileView
        tree={frameTree(result)}
        activity={activity}
        wholeActivity={null}
        time="all"
        focus={null}
        selected={0}
        found={null}
        selection={new SelectionModel()}
        theme={theme}
        trans={bracketing}
        onZoom={() => undefined}
        onSelect={() => undefined}
      />
    )
  );
  const legend = host.querySelector('.sw-legend')?.textContent ?? '';
  const details = host.querySelector('.sw-Profile-details')?.textContent ?? '';
  for (const { label } of THREAD_STATES) {
    expect(legend).toContain(`⟦${label}⟧`);
    expect(details).toContain(`⟦${label}⟧`);
  }
  flushSync(() => root.unmount());
  host.remove();
});
