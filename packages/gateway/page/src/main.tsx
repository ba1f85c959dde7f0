import { render } from 'preact';
import { takeToken } from './api.js';
import { App } from './app.js';
import { Store, StoreContext } from './store.js';

const store = new Store();
// Errors without an error object, such as those of a ResizeObserver, are harmless.
addEventListener('error', ({ error, message }) => {
  if (error) store.fault.value = message;
});
addEventListener('unhandledrejection', ({ reason }) => {
  store.fault.value = String(reason);
});
takeToken();
store.start();
render(
  <StoreContext.Provider value={store}>
    <App />
  </StoreContext.Provider>,
  document.body,
);
