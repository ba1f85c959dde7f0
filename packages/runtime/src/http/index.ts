export { openHealthPort } from './health-port.js';
export { pagesOf, type RoleView, type Shown } from './pages.js';
export { reachableAt } from './reachable.js';
export { type HttpOptions, type HttpServer, openHttpServer } from './server.js';
