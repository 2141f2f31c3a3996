export { createRemoteStore, type RemoteStoreOptions } from './client.js'
export { type StoreServer, type StoreServerOptions, serveStore } from './server.js'
