/** Accounts without any host: login, refresh and the models of an account. */
export { catalog, readCatalog, CATALOG_LIFETIME_MS, type Catalog, type CatalogOptions } from "./catalog.ts";
export { THINKING_LEVELS, type ThinkingLevel } from "./levels.ts";
export { login, type LoginOptions } from "./login.ts";
export { ACCOUNT_ORIGIN, accountOrigin, type OriginOptions } from "./origin.ts";
export { refresh, type RefreshOptions } from "./refresh.ts";
export { type ModelRow } from "./rows.ts";
export { tokenEnd, tokenExpiry, type Credentials } from "./token.ts";
