export { pagesOf, type RoleView, type Shown } from './pages.js';
export { doorAt } from './reachable.js';
export { type HttpDoor, type HttpOptions, openHttpDoor } from './server.js';
