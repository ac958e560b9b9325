/** Whether the panel that a component is in is shown: a hidden one stays in the page, and asks for nothing. */
import * as React from 'react';

export const shownContext = React.createContext(true);
