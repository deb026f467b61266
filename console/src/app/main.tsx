// The first thing that happens is to ask the server: the frame stands meanwhile.
import { startSession } from './session.ts';
import { startState } from './state.ts';

void startSession().then(startState);

import { render } from 'preact';
import { keepFocus } from '../ui/focus.ts';
import { Frame } from './frame.tsx';
import { startKeys } from './keys.ts';
import { startRouter } from './router.ts';
import { startTheme } from './theme.ts';

startTheme();
startRouter();
startKeys();
const root = document.getElementById('app') as HTMLElement;
root.replaceChildren();
render(<Frame />, root);
keepFocus(root);
