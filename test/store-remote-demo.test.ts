import { demonstratedOn } from './demo/with-server.js'

demonstratedOn('remote')
