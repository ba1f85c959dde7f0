export { isLoopbackHost, parseTokens, ROLES, type Role, type Token } from './access.js';
export { LIMITS as GATEWAY_LIMITS } from './limits.js';
export { openApi } from './openapi.js';
export { ROUTES } from './routes.js';
export { type Gateway, type GatewayOptions, openGateway } from './server.js';
