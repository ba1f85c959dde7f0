export { isLoopbackHost, parseTokens, ROLES, type Role, type Token } from './access.js';
export type { ClassPoint, Point } from './history.js';
export { LIMITS as GATEWAY_LIMITS } from './limits.js';
export { Link } from './link.js';
export { openApi } from './openapi.js';
export type { Overview } from './overview.js';
export { ROUTES } from './routes.js';
export { type Gateway, type GatewayOptions, openGateway } from './server.js';
export { ClusterWatch } from './watch.js';
